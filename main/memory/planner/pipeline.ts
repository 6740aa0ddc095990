/** Units as the pipeline model sees them, in running order. Times in milliseconds. */
export interface PipelineUnits {
  computeMs: ArrayLike<number>;
  copyMs: ArrayLike<number>;
  /** 1 where the unit streams. */
  streamed: ArrayLike<number>;
}

export interface PipelineSlots {
  count: number;
  /** False: each copy starts when the unit before has computed, and is waited for. */
  prefetch: boolean;
}

/** Passes after which the rhythm is taken as settled even if it still wavers. */
const maxPasses = 12;

/**
 * Time of one steady pass through `units`, run again and again: one copy engine and one compute engine. A copy
 * starts when the copy engine is free and its slot's last reader is done; a unit computes when its copy is there and
 * the unit before it is done. Streamed units take the slots in turn; if there are no more of them than slots, they
 * stay in them and nothing is copied.
 */
export function passTime(units: PipelineUnits, slots: PipelineSlots): number {
  let compute = 0;
  let copies = 0;
  let streamed = 0;
  for (let unit = 0; unit < units.streamed.length; unit++) {
    compute += units.computeMs[unit]!;
    if (!units.streamed[unit]) continue;
    copies += units.copyMs[unit]!;
    streamed += 1;
  }
  if (streamed <= slots.count) return compute;
  if (!slots.prefetch || slots.count < 2) return compute + copies;

  const count = slots.count;
  const readerDone = new Float64Array(count);
  let copyFree = 0;
  let computeFree = 0;
  let slot = 0;
  let passEnd = 0;
  let pass = 0;
  for (let round = 0; round < maxPasses; round++) {
    for (let unit = 0; unit < units.streamed.length; unit++) {
      if (units.streamed[unit]) {
        copyFree = Math.max(copyFree, readerDone[slot]!) + units.copyMs[unit]!;
        computeFree = Math.max(computeFree, copyFree) + units.computeMs[unit]!;
        readerDone[slot] = computeFree;
        slot = slot + 1 === count ? 0 : slot + 1;
      } else {
        computeFree += units.computeMs[unit]!;
      }
    }
    const previous = pass;
    pass = computeFree - passEnd;
    passEnd = computeFree;
    if (round > 1 && Math.abs(pass - previous) <= 1e-9 * pass) break;
  }
  return pass;
}
