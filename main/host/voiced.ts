import type { AudioChunk, Engine, SpeakTask } from '../engines/engine.ts';
import type { Lease } from '../runtime/model-source.ts';
import type { StageContext } from '../runtime/types.ts';

/** An engine's audio. One without stages gets all its components for the whole request. */
export function voiced(
  lease: Lease<Engine>,
  task: SpeakTask,
  context: StageContext,
): AsyncIterable<AudioChunk> {
  const engine = lease.value;
  if (engine.phased) return engine.speak(task, context);
  const memory = engine.memoryRequired(task);
  return context.use([...lease.handles], memory, () => engine.speak(task, context), { name: engine.id });
}
