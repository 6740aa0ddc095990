/** One column of the waveform: the largest magnitude and the root mean square of its samples, 0..1. */
export interface PeakColumn {
  peak: number;
  rms: number;
}

/**
 * The outline of a recording in constant memory: at most `capacity` bins, each of the same number of samples. When
 * they run out, neighbours merge and a bin covers twice as much.
 */
export class Peaks {
  readonly capacity: number;
  #samplesPerBin: number;
  #frames = 0;
  #bins = 0;
  readonly #peak: Float32Array;
  readonly #energy: Float64Array;

  constructor(capacity = 4096, samplesPerBin = 64) {
    if (capacity % 2 !== 0 || capacity < 2)
      throw new RangeError('Capacity must be even, so that bins merge in pairs.');
    this.capacity = capacity;
    this.#samplesPerBin = samplesPerBin;
    this.#peak = new Float32Array(capacity);
    this.#energy = new Float64Array(capacity);
  }

  get frames(): number {
    return this.#frames;
  }

  get samplesPerBin(): number {
    return this.#samplesPerBin;
  }

  append(samples: Float32Array): void {
    let at = 0;
    while (at < samples.length) {
      let bin = Math.floor(this.#frames / this.#samplesPerBin);
      if (bin >= this.capacity) {
        this.#merge();
        bin = Math.floor(this.#frames / this.#samplesPerBin);
      }
      const room = (bin + 1) * this.#samplesPerBin - this.#frames;
      const end = Math.min(samples.length, at + room);
      let peak = this.#peak[bin]!;
      let energy = this.#energy[bin]!;
      for (let i = at; i < end; i++) {
        const value = samples[i]!;
        // NaN fails the comparison and is left out of the energy as well.
        const magnitude = value < 0 ? -value : value;
        if (magnitude > peak) peak = magnitude;
        if (magnitude >= 0) energy += value * value;
      }
      this.#peak[bin] = peak;
      this.#energy[bin] = energy;
      this.#frames += end - at;
      this.#bins = bin + 1;
      at = end;
    }
  }

  /**
   * The outline drawn over `columns` columns that span `totalFrames` (at least what there is); columns past the end
   * of the audio are left out.
   */
  columns(columns: number, totalFrames = this.#frames): PeakColumn[] {
    const total = Math.max(totalFrames, this.#frames);
    if (total === 0 || columns <= 0) return [];
    const perColumn = total / columns;
    const filled = Math.min(columns, Math.ceil(this.#frames / perColumn));
    const out: PeakColumn[] = [];
    for (let column = 0; column < filled; column++) {
      const first = Math.min(this.#bins - 1, Math.floor((column * perColumn) / this.#samplesPerBin));
      const last = Math.max(
        first,
        Math.min(this.#bins - 1, Math.ceil(((column + 1) * perColumn) / this.#samplesPerBin) - 1),
      );
      let peak = 0;
      let energy = 0;
      let frames = 0;
      for (let bin = first; bin <= last; bin++) {
        peak = Math.max(peak, this.#peak[bin]!);
        energy += this.#energy[bin]!;
        frames += this.#framesIn(bin);
      }
      out.push({ peak: Math.min(1, peak), rms: Math.min(1, Math.sqrt(energy / Math.max(1, frames))) });
    }
    return out;
  }

  #framesIn(bin: number): number {
    return bin < this.#bins - 1 ? this.#samplesPerBin : this.#frames - bin * this.#samplesPerBin;
  }

  #merge(): void {
    const half = this.capacity / 2;
    for (let bin = 0; bin < half; bin++) {
      this.#peak[bin] = Math.max(this.#peak[2 * bin]!, this.#peak[2 * bin + 1]!);
      this.#energy[bin] = this.#energy[2 * bin]! + this.#energy[2 * bin + 1]!;
    }
    this.#peak.fill(0, half);
    this.#energy.fill(0, half);
    this.#samplesPerBin *= 2;
    this.#bins = half;
  }
}
