/**
 * Log-durations to whole frames by cumulative rounding: phone i ends at floor(sum + 0.5), every phone keeps at least
 * one frame, so rounding never adds up.
 *
 * @param logDurations natural log of frames per phone, `[phones]`
 * @param speed divides every duration
 * @returns frames per phone, `[phones]`
 */
export function framesFromLogDurations(logDurations: Float32Array, speed = 1): Int32Array {
  const frames = new Int32Array(logDurations.length);
  let total = 0;
  let end = 0;
  for (let i = 0; i < frames.length; i++) {
    total += Math.exp(logDurations[i]!) / speed;
    const next = Math.max(end + 1, Math.floor(total + 0.5));
    frames[i] = next - end;
    end = next;
  }
  return frames;
}

/** What the decoder needs to know of a stretch of frames. */
export interface FramePositions {
  /** Phone of each frame, `[frames]`. */
  phone: Int32Array;
  /** f, f*f, ln(d) of each frame, where frame j of a phone of d frames has f = (j + 0.5) / d; `[frames, 3]`. */
  features: Float32Array;
}

/** Phones and position features of all frames; `frames` per phone, `[phones]`. */
export function framePositions(frames: Int32Array): FramePositions {
  const total = frames.reduce((sum, count) => sum + count, 0);
  const phone = new Int32Array(total);
  const features = new Float32Array(total * 3);
  let at = 0;
  for (const [index, count] of frames.entries()) {
    const logarithm = Math.log(count);
    for (let j = 0; j < count; j++, at++) {
      const f = (j + 0.5) / count;
      phone[at] = index;
      features[3 * at] = f;
      features[3 * at + 1] = f * f;
      features[3 * at + 2] = logarithm;
    }
  }
  return { phone, features };
}
