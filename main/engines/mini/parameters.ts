import { StudioError } from '../../contract/errors.ts';
import { type Said, say } from '../../contract/said.ts';
import type { MiniConfig } from './config.ts';

/** What is accepted at all; `config.json` suggests a narrower range. */
export const bounds = {
  speed: { minimum: 0.25, maximum: 4 },
  pitch: { minimum: 0.5, maximum: 2 },
} as const;

/**
 * Checks speed and pitch; answers a warning for each that was never tried on this voice.
 *
 * @throws StudioError `invalid_request`
 */
export function checkParameters(task: { speed: number; pitch: number }, config: MiniConfig): Said[] {
  const warnings: Said[] = [];
  for (const name of ['speed', 'pitch'] as const) {
    const value = task[name];
    const { minimum, maximum } = bounds[name];
    if (!(value >= minimum && value <= maximum)) {
      throw new StudioError(
        'invalid_request',
        `A ${name} of ${value} cannot be spoken: choose one from ${minimum} to ${maximum}.`,
        { params: { field: name, value, minimum, maximum } },
      );
    }
    const [low, high] = config[name].suggested_range;
    if (value < low || value > high) {
      warnings.push(say('parameter_untested', { parameter: name, low, high, value }));
    }
  }
  return warnings;
}
