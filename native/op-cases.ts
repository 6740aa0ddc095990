/** Operations with inputs, parameters and results worked out by hand: see ops.test.ts. */
import { type Feed, f32, i32 } from './test-support.ts';

export interface OpCase {
  op: string;
  feeds: Feed[];
  params?: number[];
  shape: number[];
  values: number[];
  /** Kept off Vulkan: it has no kernel for this case. */
  cpuOnly?: boolean;
  tolerance?: number;
}

const erf1 = 0.8427007929497149;
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const each = (op: string, x: number[], f: (x: number) => number, tolerance = 1e-5): OpCase => ({
  op,
  feeds: [f32([x.length], x)],
  shape: [x.length],
  values: x.map(f),
  tolerance,
});
export const x23 = f32([2, 3], [1, 2, 3, 4, 5, 6]);

export const opCases: OpCase[] = [
  // Element by element
  { op: 'add', feeds: [x23, f32([3], [10, 20, 30])], shape: [2, 3], values: [11, 22, 33, 14, 25, 36] },
  { op: 'add', feeds: [f32([3], [10, 20, 30]), x23], shape: [2, 3], values: [11, 22, 33, 14, 25, 36] },
  {
    op: 'sub',
    feeds: [f32([2, 1], [10, 20]), f32([3], [1, 2, 3])],
    shape: [2, 3],
    values: [9, 8, 7, 19, 18, 17],
  },
  { op: 'sub', feeds: [f32([3], [1, 2, 3]), x23], shape: [2, 3], values: [0, 0, 0, -3, -3, -3] },
  { op: 'mul', feeds: [x23, f32([2, 1], [2, 3])], shape: [2, 3], values: [2, 4, 6, 12, 15, 18] },
  { op: 'div', feeds: [x23, f32([], [2])], shape: [2, 3], values: [0.5, 1, 1.5, 2, 2.5, 3] },
  { op: 'scale', feeds: [x23], params: [2, 1], shape: [2, 3], values: [3, 5, 7, 9, 11, 13] },
  { op: 'clamp', feeds: [x23], params: [2, 4.5], shape: [2, 3], values: [2, 2, 3, 4, 4.5, 4.5] },
  {
    op: 'gelu_tanh',
    feeds: [f32([4], [-3, -0.5, 0, 2])],
    shape: [4],
    values: [-0.00363743, -0.1542859971523285, 0, 1.9545977115631104],
    tolerance: 1e-5,
  },
  {
    op: 'snake',
    feeds: [f32([2, 3], [-1, 0.5, 2, 3, 4, 5]), f32([3], [1, 2, 0.5]), f32([3], [1, 0.5, 2])],
    shape: [2, 3],
    values: [-0.2919266, 1.9161468, 2.3540368, 3.0199149, 5.9576597, 5.1790843],
    tolerance: 1e-4,
  },
  {
    op: 'snake',
    feeds: [f32([2, 2], [-1, 0.5, 2, 3]), f32([2, 1], [1, 2]), f32([2, 1], [1, 0.5])],
    shape: [2, 2],
    values: [-0.2919266, 0.7298489, 3.1455002, 3.156146],
    tolerance: 1e-4,
  },
  { op: 'leaky_relu', feeds: [f32([2], [-2, 3])], params: [0.1], shape: [2], values: [-0.2, 3] },
  each('abs', [-1.5, 0, 2], Math.abs),
  each('neg', [-1.5, 2], (x) => -x),
  each('sgn', [-3, 0, 5], Math.sign),
  each('step', [-3, 0.5, 5], (x) => (x > 0 ? 1 : 0)),
  each('sqr', [-3, 0.5], (x) => x * x),
  each('sqrt', [4, 2], Math.sqrt),
  each('log', [1, 10], Math.log),
  each('exp', [0, 1, -2], Math.exp),
  each('expm1', [0, 1, -2], Math.expm1, 1e-4),
  each('sin', [0, 1, -2], Math.sin, 1e-4),
  each('cos', [0, 1, -2], Math.cos, 1e-4),
  each('tanh', [0, 1, -2], Math.tanh, 1e-4),
  each('sigmoid', [0, 1, -2], sigmoid),
  each('relu', [-1, 2], (x) => Math.max(0, x)),
  each('elu', [-1, 2], (x) => (x > 0 ? x : Math.expm1(x))),
  each('silu', [-1, 2], (x) => x * sigmoid(x)),
  // The processor's tanh form looks half-precision values up.
  each('gelu', [1], (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))), 1e-3),
  each('gelu_erf', [Math.SQRT2], (x) => 0.5 * x * (1 + erf1)),
  each('gelu_quick', [1, -1], (x) => x * sigmoid(1.702 * x), 1e-3),
  each('softplus', [0, 1], (x) => Math.log1p(Math.exp(x))),
  each('hardswish', [-4, 0, 1], (x) => (x * Math.min(6, Math.max(0, x + 3))) / 6),
  each('hardsigmoid', [-4, 0, 1], (x) => Math.min(6, Math.max(0, x + 3)) / 6),
  each('floor', [-1.5, 2.5], Math.floor),
  each('ceil', [-1.5, 2.5], Math.ceil),
  each('round', [-1.4, 2.6], Math.round),
  each('trunc', [-1.5, 2.5], Math.trunc),
  { op: 'swiglu', feeds: [f32([4], [1, -1, 2, 3])], shape: [2], values: [2 * sigmoid(1), -3 * sigmoid(-1)] },
  { op: 'geglu', feeds: [f32([2], [1, 2])], shape: [1], values: [2 * 0.8412], tolerance: 2e-3 },
  { op: 'geglu_erf', feeds: [f32([2], [Math.SQRT2, 2])], shape: [1], values: [Math.SQRT2 * (1 + erf1)] },
  { op: 'geglu_quick', feeds: [f32([2], [1, 2])], shape: [1], values: [2 * sigmoid(1.702)], tolerance: 2e-3 },
  { op: 'reglu', feeds: [f32([4], [-1, 2, 3, 4])], shape: [2], values: [0, 8] },
  {
    op: 'swiglu_split',
    feeds: [f32([2], [1, -1]), f32([2], [2, 3])],
    shape: [2],
    values: [2 * sigmoid(1), -3 * sigmoid(-1)],
  },
  {
    op: 'geglu_split',
    feeds: [f32([1], [1]), f32([1], [2])],
    shape: [1],
    values: [2 * 0.8412],
    tolerance: 2e-3,
  },
  {
    op: 'geglu_erf_split',
    feeds: [f32([1], [Math.SQRT2]), f32([1], [2])],
    shape: [1],
    values: [Math.SQRT2 * (1 + erf1)],
  },
  {
    op: 'geglu_quick_split',
    feeds: [f32([1], [1]), f32([1], [2])],
    shape: [1],
    values: [2 * sigmoid(1.702)],
    tolerance: 2e-3,
  },
  { op: 'reglu_split', feeds: [f32([2], [-1, 2]), f32([2], [3, 4])], shape: [2], values: [0, 8] },

  // Along the last dimension
  { op: 'sum', feeds: [x23], shape: [1], values: [21] },
  { op: 'sum_rows', feeds: [x23], shape: [2, 1], values: [6, 15] },
  { op: 'mean', feeds: [x23], shape: [2, 1], values: [2, 5] },
  { op: 'cumsum', feeds: [x23], shape: [2, 3], values: [1, 3, 6, 4, 9, 15] },
  { op: 'argmax', feeds: [f32([2, 2, 2], [1, 2, 4, 3, 0, 9, 9, 0])], shape: [2, 2], values: [1, 0, 1, 0] },
  { op: 'argsort', feeds: [f32([2, 3], [3, 1, 2, 4, 6, 5])], shape: [2, 3], values: [1, 2, 0, 0, 2, 1] },
  { op: 'argsort', feeds: [f32([3], [3, 1, 2])], params: [1], shape: [3], values: [0, 2, 1] },
  { op: 'top_k', feeds: [f32([4], [3, 1, 9, 2])], params: [1], shape: [1], values: [2] },

  // Shapes and types
  { op: 'reshape', feeds: [x23], params: [3, -1], shape: [3, 2], values: [1, 2, 3, 4, 5, 6] },
  { op: 'reshape', feeds: [x23], params: [1, 2, 3], shape: [1, 2, 3], values: [1, 2, 3, 4, 5, 6] },
  { op: 'transpose', feeds: [x23], params: [0, 1], shape: [3, 2], values: [1, 4, 2, 5, 3, 6] },
  {
    op: 'permute',
    feeds: [f32([2, 1, 3], [1, 2, 3, 4, 5, 6])],
    params: [2, 0, 1],
    shape: [3, 2, 1],
    values: [1, 4, 2, 5, 3, 6],
  },
  { op: 'narrow', feeds: [x23], params: [1, 1, 2], shape: [2, 2], values: [2, 3, 5, 6] },
  { op: 'narrow', feeds: [x23], params: [-2, -1, 1], shape: [1, 3], values: [4, 5, 6] },
  { op: 'slice', feeds: [x23], params: [1, 0, 2, 2], shape: [2, 2], values: [1, 3, 4, 6] },
  { op: 'slice', feeds: [f32([4, 1], [1, 2, 3, 4])], params: [0, 1, 2, 2], shape: [2, 1], values: [2, 4] },
  { op: 'select', feeds: [x23], params: [0, 1], shape: [3], values: [4, 5, 6] },
  { op: 'select', feeds: [x23], params: [1, -1], shape: [2], values: [3, 6] },
  { op: 'cont', feeds: [x23], shape: [2, 3], values: [1, 2, 3, 4, 5, 6] },
  { op: 'cast', feeds: [f32([3], [1.9, -1.9, 0])], params: [26], shape: [3], values: [1, -1, 0] },
  {
    op: 'repeat',
    feeds: [f32([1, 2], [1, 2])],
    params: [2, 4],
    shape: [2, 4],
    values: [1, 2, 1, 2, 1, 2, 1, 2],
  },
  {
    op: 'concat',
    feeds: [x23, f32([2, 1], [7, 8]), f32([2, 1], [9, 10])],
    params: [-1],
    shape: [2, 5],
    values: [1, 2, 3, 7, 9, 4, 5, 6, 8, 10],
  },
  {
    op: 'concat',
    feeds: [x23, f32([1, 3], [7, 8, 9])],
    params: [0],
    shape: [3, 3],
    values: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  },
  { op: 'pad', feeds: [f32([1, 2], [1, 2])], params: [1, 2], shape: [1, 5], values: [0, 1, 2, 0, 0] },
  {
    op: 'pad',
    feeds: [f32([1, 2], [1, 2])],
    params: [0, 0, 1, 1],
    shape: [3, 2],
    values: [0, 0, 1, 2, 0, 0],
  },
  {
    op: 'pad_circular',
    feeds: [f32([3], [1, 2, 3])],
    params: [1, 2],
    shape: [6],
    values: [3, 1, 2, 3, 1, 2],
  },
  {
    op: 'pad_reflect_1d',
    feeds: [f32([4], [1, 2, 3, 4])],
    params: [1, 2],
    shape: [7],
    values: [2, 1, 2, 3, 4, 3, 2],
  },
  { op: 'roll', feeds: [f32([4], [1, 2, 3, 4])], params: [1, 0], shape: [4], values: [4, 1, 2, 3] },
  { op: 'roll', feeds: [x23], params: [-4, -1], shape: [2, 3], values: [2, 3, 1, 5, 6, 4] },
  { op: 'interpolate', feeds: [f32([2], [1, 2])], params: [0, 0, 4], shape: [4], values: [1, 1, 2, 2] },
  {
    op: 'interpolate',
    feeds: [f32([1, 2], [1, 3])],
    params: [1, 0, 4],
    shape: [1, 4],
    values: [1, 1.5, 2.5, 3],
  },
  { op: 'interpolate', feeds: [f32([1, 2], [1, 3])], params: [1, 1, 3], shape: [1, 3], values: [1, 2, 3] },
  { op: 'fill', feeds: [x23], params: [7], shape: [2, 3], values: [7, 7, 7, 7, 7, 7] },
  { op: 'tri', feeds: [f32([2, 2], [1, 2, 3, 4])], params: [2], shape: [2, 2], values: [1, 0, 3, 4] },

  // Matrices and tables
  {
    op: 'mul_mat',
    feeds: [x23, f32([1, 3], [1, 10, 100])],
    params: [1],
    shape: [1, 2],
    values: [321, 654],
  },
  {
    op: 'mul_mat',
    feeds: [f32([1, 1, 2], [1, 2]), f32([3, 1, 2], [1, 1, 2, 2, 3, 3])],
    shape: [3, 1, 1],
    values: [3, 6, 9],
  },
  { op: 'get_rows', feeds: [x23, i32([2, 1], [1, 0])], shape: [2, 1, 3], values: [4, 5, 6, 1, 2, 3] },
  {
    op: 'get_rows',
    feeds: [f32([2, 2, 1], [1, 2, 3, 4]), i32([2, 1], [1, 0])],
    shape: [2, 1, 1],
    values: [2, 3],
  },

  // Normalisation
  { op: 'norm', feeds: [f32([2], [1, 3])], params: [0], shape: [2], values: [-1, 1] },
  {
    op: 'rms_norm',
    feeds: [f32([2], [3, 4])],
    params: [0],
    shape: [2],
    values: [3, 4].map((x) => x / Math.sqrt(12.5)),
  },
  { op: 'l2_norm', feeds: [f32([2], [3, 4])], params: [1e-12], shape: [2], values: [0.6, 0.8] },
  {
    op: 'group_norm',
    feeds: [f32([1, 4, 1], [1, 3, 10, 20])],
    params: [2, 0],
    shape: [1, 4, 1],
    values: [-1, 1, -1, 1],
  },

  // Attention
  { op: 'soft_max', feeds: [f32([2], [0, Math.log(3)])], shape: [2], values: [0.25, 0.75] },
  {
    op: 'soft_max',
    feeds: [f32([1, 2], [0, 1]), f32([1, 2], [0, Number.NEGATIVE_INFINITY])],
    params: [2],
    shape: [1, 2],
    values: [1, 0],
  },
  {
    op: 'rope',
    feeds: [f32([1, 1, 2], [1, 0]), i32([1], [1])],
    params: [2, 0],
    shape: [1, 1, 2],
    values: [Math.cos(1), Math.sin(1)],
  },
  {
    op: 'rope',
    feeds: [f32([2, 1, 4], [1, 2, 3, 4, 1, 0, 0, 1]), i32([2], [0, 2]), f32([2], [1, 2])],
    params: [4, 2, 0, 10000],
    shape: [2, 1, 4],
    values: [1, 2, 3, 4, Math.cos(2), -Math.sin(0.01), Math.sin(2), Math.cos(0.01)],
  },
  {
    op: 'rope_multi',
    feeds: [f32([1, 1, 4], [1, 1, 0, 0]), i32([4], [1, 2, 0, 0])],
    params: [4, 8, 0, 10000, 1, 0, 1, 32, 1, 1, 1, 0, 0],
    shape: [1, 1, 4],
    values: [Math.cos(1), Math.cos(0.02), Math.sin(1), Math.sin(0.02)],
  },
  {
    op: 'diag_mask_inf',
    feeds: [f32([2, 2], [1, 2, 3, 4])],
    params: [0],
    shape: [2, 2],
    values: [1, Number.NEGATIVE_INFINITY, 3, 4],
  },
  {
    op: 'diag_mask_zero',
    feeds: [f32([2, 2], [1, 2, 3, 4])],
    params: [0],
    shape: [2, 2],
    values: [1, 0, 3, 4],
    cpuOnly: true,
  },
  {
    op: 'flash_attn_ext',
    feeds: [
      f32([1, 1, 1, 8], [1, 0, 0, 0, 0, 0, 0, 0]),
      f32([1, 1, 2, 8], [0, 0, 0, 0, 0, 0, 0, 0, Math.log(3), 0, 0, 0, 0, 0, 0, 0]),
      f32([1, 1, 2, 8], [1, 1, 1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5, 5]),
    ],
    params: [1, 0, 0, 1],
    shape: [1, 1, 1, 8],
    values: new Array(8).fill(4),
    tolerance: 5e-3,
  },

  // Convolution
  {
    op: 'im2col',
    feeds: [f32([1, 1, 2], [0, 0]), f32([1, 1, 3], [1, 2, 3])],
    params: [1, 1, 1],
    shape: [1, 4, 2],
    values: [0, 1, 1, 2, 2, 3, 3, 0],
  },
  {
    op: 'im2col_2d',
    feeds: [f32([1, 1, 1, 2], [0, 0]), f32([1, 1, 2, 3], [1, 2, 3, 4, 5, 6])],
    shape: [1, 2, 2, 2],
    values: [1, 2, 2, 3, 4, 5, 5, 6],
  },
  {
    op: 'conv_1d_dw',
    feeds: [f32([2, 1, 2], [1, 10, 2, 20]), f32([1, 2, 3], [1, 2, 3, 4, 5, 6])],
    params: [1, 0, 1],
    shape: [1, 2, 2],
    values: [21, 32, 108, 130],
  },
  {
    op: 'conv_1d_dw_last',
    feeds: [f32([2, 2], [1, 2, 10, 20]), f32([1, 3, 2], [1, 4, 2, 5, 3, 6])],
    params: [1, 0, 1],
    shape: [1, 2, 2],
    values: [21, 108, 32, 130],
  },
  {
    op: 'conv_1d_dw_last',
    feeds: [f32([3, 2], [1, 2, 10, 20, 100, 200]), f32([1, 1, 2], [1, 4])],
    params: [1, 1, 1],
    shape: [1, 1, 2],
    values: [10, 80],
  },
  {
    op: 'conv_2d_dw',
    feeds: [f32([1, 1, 2, 1], [1, 10]), f32([1, 1, 2, 2], [1, 2, 3, 4])],
    shape: [1, 1, 1, 2],
    values: [31, 42],
  },
  {
    // Two channels of width 2: columns hold channel 0's taps, then channel 1's.
    op: 'col2im_1d',
    feeds: [f32([2, 4], [1, 2, 10, 20, 3, 4, 30, 40])],
    params: [1, 2],
    shape: [2, 3],
    values: [1, 5, 4, 10, 50, 40],
  },
  {
    op: 'conv_transpose_1d',
    feeds: [f32([1, 1, 2], [1, 10]), f32([1, 2], [1, 2])],
    params: [2],
    shape: [1, 4],
    values: [1, 10, 2, 20],
  },
  { op: 'pool_1d', feeds: [f32([4], [1, 4, 2, 3])], params: [0, 2], shape: [2], values: [4, 3] },
  { op: 'pool_1d', feeds: [f32([4], [1, 4, 2, 3])], params: [1, 2, 1], shape: [3], values: [2.5, 3, 2.5] },

  // Numbers
  { op: 'arange', feeds: [], params: [1, 4], shape: [3], values: [1, 2, 3] },
  { op: 'arange', feeds: [], params: [0, 1, 0.25], shape: [4], values: [0, 0.25, 0.5, 0.75] },
  {
    op: 'timestep_embedding',
    feeds: [f32([1], [1])],
    params: [4, 100],
    shape: [1, 4],
    values: [Math.cos(1), Math.cos(0.1), Math.sin(1), Math.sin(0.1)],
  },
];
