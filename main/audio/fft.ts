import FFT from 'fft.js';

/** Discrete Fourier transform of `size` complex numbers, any size: powers of two by fft.js, others by Bluestein's chirp. */
export class ComplexFft {
  readonly #radix: FFT | null;
  readonly #chirp: Chirp | null;
  readonly #swapped: Float64Array;

  constructor(readonly size: number) {
    if (!Number.isInteger(size) || size < 1) throw new RangeError(`an FFT of ${size} values does not exist`);
    const powerOfTwo = Number.isInteger(Math.log2(size));
    this.#radix = powerOfTwo && size > 1 ? new FFT(size) : null;
    this.#chirp = powerOfTwo ? null : new Chirp(size);
    this.#swapped = new Float64Array(powerOfTwo ? 0 : 2 * size);
  }

  /** out[k] = sum over n of data[n] e^(-2 pi i k n / size). Interleaved, `2 * size` values; `out` is not `data`. */
  forward(data: Float64Array, out: Float64Array): void {
    if (this.#radix) this.#radix.transform(out, data);
    else if (this.#chirp) this.#chirp.transform(data, out);
    else out.set(data.subarray(0, 2));
  }

  /** The inverse of `forward`, scaled by 1 / size. */
  inverse(data: Float64Array, out: Float64Array): void {
    if (this.#radix) {
      this.#radix.inverseTransform(out, data);
    } else if (this.#chirp) {
      // The inverse is the forward transform with real and imaginary parts swapped, before and after.
      swap(data, this.#swapped, 1);
      this.#chirp.transform(this.#swapped, out);
      this.#swapped.set(out);
      swap(this.#swapped, out, 1 / this.size);
    } else {
      out.set(data.subarray(0, 2));
    }
  }
}

/** Bluestein: a transform of any size as a circular convolution of a power-of-two size. */
class Chirp {
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #fft: FFT;
  readonly #kernel: Float64Array;
  readonly #work: Float64Array;
  readonly #spectrum: Float64Array;

  constructor(private readonly size: number) {
    const length = 2 ** Math.ceil(Math.log2(2 * size - 1));
    this.#fft = new FFT(length);
    this.#cos = new Float64Array(size);
    this.#sin = new Float64Array(size);
    for (let n = 0; n < size; n++) {
      // n^2 modulo 2 size keeps the angle small, so exact.
      const angle = (Math.PI * ((n * n) % (2 * size))) / size;
      this.#cos[n] = Math.cos(angle);
      this.#sin[n] = Math.sin(angle);
    }
    const chirp = new Float64Array(2 * length);
    for (let n = 0; n < size; n++) {
      for (const at of n === 0 ? [0] : [n, length - n]) {
        chirp[2 * at] = this.#cos[n]!;
        chirp[2 * at + 1] = this.#sin[n]!;
      }
    }
    this.#kernel = new Float64Array(2 * length);
    this.#fft.transform(this.#kernel, chirp);
    this.#work = new Float64Array(2 * length);
    this.#spectrum = new Float64Array(2 * length);
  }

  transform(data: Float64Array, out: Float64Array): void {
    const work = this.#work.fill(0);
    for (let n = 0; n < this.size; n++) {
      const [re, im, cos, sin] = [data[2 * n]!, data[2 * n + 1]!, this.#cos[n]!, this.#sin[n]!];
      work[2 * n] = re * cos + im * sin;
      work[2 * n + 1] = im * cos - re * sin;
    }
    const spectrum = this.#spectrum;
    this.#fft.transform(spectrum, work);
    for (let k = 0; k < spectrum.length; k += 2) {
      const [re, im, kr, ki] = [spectrum[k]!, spectrum[k + 1]!, this.#kernel[k]!, this.#kernel[k + 1]!];
      spectrum[k] = re * kr - im * ki;
      spectrum[k + 1] = re * ki + im * kr;
    }
    this.#fft.inverseTransform(work, spectrum);
    for (let k = 0; k < this.size; k++) {
      const [re, im, cos, sin] = [work[2 * k]!, work[2 * k + 1]!, this.#cos[k]!, this.#sin[k]!];
      out[2 * k] = re * cos + im * sin;
      out[2 * k + 1] = im * cos - re * sin;
    }
  }
}

/** Discrete Fourier transform of real signals: `size` values <-> `bins` = floor(size / 2) + 1 complex ones. */
export class RealFft {
  readonly bins: number;
  readonly #even: boolean;
  readonly #fft: ComplexFft;
  readonly #data: Float64Array;
  readonly #out: Float64Array;
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;

  constructor(readonly size: number) {
    this.#even = size % 2 === 0;
    this.#fft = new ComplexFft(this.#even ? size / 2 : size);
    this.bins = Math.floor(size / 2) + 1;
    this.#data = new Float64Array(2 * this.#fft.size);
    this.#out = new Float64Array(2 * this.#fft.size);
    this.#cos = Float64Array.from({ length: this.bins }, (_, k) => Math.cos((2 * Math.PI * k) / size));
    this.#sin = Float64Array.from({ length: this.bins }, (_, k) => Math.sin((2 * Math.PI * k) / size));
  }

  /** Unscaled, as `rfft` of NumPy and PyTorch. `signal`: `size` values; `re`, `im`: `bins` values. */
  forward(signal: Float64Array, re: Float64Array, im: Float64Array): void {
    const { size } = this;
    if (!this.#even) {
      const data = this.#data;
      for (let n = 0; n < size; n++) data[2 * n] = signal[n]!;
      this.#fft.forward(data, this.#out);
      for (let k = 0; k < this.bins; k++) {
        re[k] = this.#out[2 * k]!;
        im[k] = this.#out[2 * k + 1]!;
      }
      return;
    }
    // Even samples as real parts, odd ones as imaginary parts: one transform of half the size, taken apart below.
    const out = this.#out;
    this.#fft.forward(signal, out);
    const half = size / 2;
    re[0] = out[0]! + out[1]!;
    re[half] = out[0]! - out[1]!;
    im[0] = 0;
    im[half] = 0;
    for (let k = 1, mirror = half - 1; k <= mirror; k++, mirror--) {
      const evenRe = (out[2 * k]! + out[2 * mirror]!) / 2;
      const evenIm = (out[2 * k + 1]! - out[2 * mirror + 1]!) / 2;
      const oddRe = (out[2 * k + 1]! + out[2 * mirror + 1]!) / 2;
      const oddIm = (out[2 * mirror]! - out[2 * k]!) / 2;
      const cos = this.#cos[k]!;
      const sin = this.#sin[k]!;
      const turnedRe = oddRe * cos + oddIm * sin;
      const turnedIm = oddIm * cos - oddRe * sin;
      re[k] = evenRe + turnedRe;
      im[k] = evenIm + turnedIm;
      re[mirror] = evenRe - turnedRe;
      im[mirror] = turnedIm - evenIm;
    }
  }

  /** The inverse of `forward`, scaled by 1 / size. The imaginary parts of bin 0 and of Nyquist are ignored. */
  inverse(re: Float64Array, im: Float64Array, signal: Float64Array): void {
    const { size } = this;
    const data = this.#data;
    if (!this.#even) {
      data[0] = re[0]!;
      data[1] = 0;
      for (let k = 1; k < this.bins; k++) {
        data[2 * k] = re[k]!;
        data[2 * k + 1] = im[k]!;
        data[2 * (size - k)] = re[k]!;
        data[2 * (size - k) + 1] = -im[k]!;
      }
      this.#fft.inverse(data, this.#out);
      for (let n = 0; n < size; n++) signal[n] = this.#out[2 * n]!;
      // `forward` relies on imaginary parts of 0.
      data.fill(0);
      return;
    }
    const half = size / 2;
    data[0] = (re[0]! + re[half]!) / 2;
    data[1] = (re[0]! - re[half]!) / 2;
    for (let k = 1, mirror = half - 1; k <= mirror; k++, mirror--) {
      const evenRe = (re[k]! + re[mirror]!) / 2;
      const evenIm = (im[k]! - im[mirror]!) / 2;
      const turnedRe = (re[k]! - re[mirror]!) / 2;
      const turnedIm = (im[k]! + im[mirror]!) / 2;
      const cos = this.#cos[k]!;
      const sin = this.#sin[k]!;
      const oddRe = turnedRe * cos - turnedIm * sin;
      const oddIm = turnedRe * sin + turnedIm * cos;
      data[2 * k] = evenRe - oddIm;
      data[2 * k + 1] = evenIm + oddRe;
      data[2 * mirror] = evenRe + oddIm;
      data[2 * mirror + 1] = oddRe - evenIm;
    }
    this.#fft.inverse(data, this.#out);
    signal.set(this.#out);
  }
}

function swap(from: Float64Array, to: Float64Array, scale: number): void {
  for (let i = 0; i < from.length; i += 2) {
    to[i] = from[i + 1]! * scale;
    to[i + 1] = from[i]! * scale;
  }
}
