export type WindowName = 'hann' | 'hamming' | 'blackman' | 'povey' | 'ones';

/**
 * A window of `length` values. `periodic` (default, as torch.hann_window): one period of `length`; otherwise
 * symmetric, first value equal to the last. `povey` is Kaldi's hann^0.85.
 */
export function makeWindow(name: WindowName, length: number, periodic = true): Float64Array {
  const period = periodic ? length : length - 1;
  return Float64Array.from({ length }, (_, n) => {
    const phase = period === 0 ? Math.PI : (2 * Math.PI * n) / period;
    return shapes[name](phase);
  });
}

/** Window value over the phase, 0..2 pi. */
const shapes: Record<WindowName, (phase: number) => number> = {
  hann: (phase) => 0.5 - 0.5 * Math.cos(phase),
  hamming: (phase) => 0.54 - 0.46 * Math.cos(phase),
  blackman: (phase) => 0.42 - 0.5 * Math.cos(phase) + 0.08 * Math.cos(2 * phase),
  povey: (phase) => (0.5 - 0.5 * Math.cos(phase)) ** 0.85,
  ones: () => 1,
};
