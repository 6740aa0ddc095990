import { setImmediate as turn } from 'node:timers/promises';
import type { Checkpoint } from '../../../native/addon.ts';
import { StudioError } from '../../contract/errors.ts';
import { type CodebookSums, codebookEntries } from '../../nn/blocks/residual-vq.ts';
import { notFinite } from '../../nn/finite.ts';

/**
 * Tensors of the codec's checkpoint that are computed with once, when a network is built, instead of in each of its
 * runs: codebooks from sums and usages, activations from logarithms.
 */
export interface CodecTensors {
  /** Entries `[size, dim]` of the codebook at this path of the checkpoint. */
  codebook(path: string, sums: string, size: number, dim: number): Float32Array;
  /** Logarithms of alpha and beta, `[channels]`. */
  snake(path: string, channels: number): { alpha: Float32Array; beta: Float32Array };
}

/**
 * @throws StudioError, from its methods: `checkpoint_mismatch` where a tensor is missing or has another shape,
 *   `weights_not_finite`
 */
export function codecTensors(checkpoint: Checkpoint): CodecTensors {
  const tensors = new Map(checkpoint.tensors.map((tensor) => [tensor.name, tensor]));
  const read = (name: string, shape: readonly number[]): Float32Array => {
    const tensor = tensors.get(name);
    if (tensor === undefined || tensor.shape.join() !== shape.join()) {
      const found = tensor === undefined ? 'is missing' : `has shape [${tensor.shape.join(', ')}]`;
      throw new StudioError(
        'checkpoint_mismatch',
        `The codec's checkpoint does not fit its configuration: tensor "${name}" ${found}, ` +
          `[${shape.join(', ')}] is needed. Download it again.`,
        { params: { component: 'codec', tensor: name } },
      );
    }
    const values = checkpoint.readFloat32(name);
    requireFinite(name, values);
    return values;
  };
  return {
    codebook: (path, sums, size, dim) => {
      const parts: CodebookSums = {
        sums: read(`${path}.${sums}`, [size, dim]),
        usage: read(`${path}.cluster_usage`, [size]),
      };
      return codebookEntries(parts, parts.sums);
    },
    snake: (path, channels) => ({
      alpha: read(`${path}.alpha`, [channels]),
      beta: read(`${path}.beta`, [channels]),
    }),
  };
}

/**
 * A network that reads codebooks, which are computed one by one, with others in between: there are tens of megabytes.
 *
 * @param build is called twice, the first time to learn which codebooks it reads.
 */
export async function withCodebooks<M>(
  checkpoint: Checkpoint,
  build: (tensors: CodecTensors) => M,
): Promise<M> {
  const { codebook, snake } = codecTensors(checkpoint);
  const wanted: Parameters<typeof codebook>[] = [];
  build({
    codebook: (...which) => {
      wanted.push(which);
      return new Float32Array();
    },
    snake,
  });
  const made = new Map<string, Float32Array>();
  for (const which of wanted) {
    await turn();
    made.set(which[0], codebook(...which));
  }
  return build({ codebook: (path) => made.get(path)!, snake });
}

function requireFinite(name: string, values: Float32Array): void {
  // Millions of values, and the event loop waits: zero times anything finite is zero.
  let zero = 0;
  for (let i = 0; i < values.length; i++) zero += values[i]! * 0;
  if (zero === 0) return;
  throw notFinite(
    name,
    values.findIndex((value) => !Number.isFinite(value)),
  );
}

/** Upstream wraps each convolution in a module of its own: `conv1.conv.weight` is `conv1.weight` here. */
export function withoutWrapper(name: string): string {
  return name.replace(/\.conv\.(weight|bias)$/, '.$1');
}
