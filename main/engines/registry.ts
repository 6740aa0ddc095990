import { StudioError } from '../contract/errors.ts';
import type { EngineDefinition } from './engine.ts';
import { miniEngine } from './mini/index.ts';
import { qwen3TtsEngine } from './qwen3-tts/index.ts';

/** Every engine of the studio, the built-in one first. */
export const engines: readonly EngineDefinition[] = [miniEngine(), qwen3TtsEngine()];

/** @throws StudioError `unknown_engine` */
export function findEngine(id: string): EngineDefinition {
  const found = engines.find((engine) => engine.id === id);
  if (found) return found;
  const known = engines.map((engine) => engine.id).join(', ');
  const shown = id.length > 60 ? `${id.slice(0, 57)}...` : id;
  throw new StudioError('unknown_engine', `There is no engine named "${shown}". There is: ${known}.`, {
    params: { engine: shown, known },
  });
}
