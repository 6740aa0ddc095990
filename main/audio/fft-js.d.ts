/** What main/audio uses of fft.js (MIT), which ships no types. */
declare module 'fft.js' {
  export default class FFT {
    /** @param size a power of two, at least 2 */
    constructor(size: number);
    /** Both take interleaved complex numbers, `2 * size` values; `out` must not be `data`. */
    transform(out: Float64Array, data: Float64Array): void;
    /** Scaled by 1 / size. */
    inverseTransform(out: Float64Array, data: Float64Array): void;
  }
}
