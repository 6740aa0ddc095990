import type { Speaker } from '../contract/models.ts';
import type { EngineInfo } from '../contract/runtime.ts';
import type { InstalledModel } from '../models/types.ts';
import type { EngineDefinition } from './engine.ts';

/** An engine with the models of it that can speak now, the default first. */
export function engineInfo(
  definition: Pick<EngineDefinition, 'id' | 'description'>,
  models: readonly InstalledModel[],
): EngineInfo {
  const { id, description } = definition;
  const speakers = new Map<string, Speaker>();
  for (const { abilities } of models) {
    for (const speaker of abilities.speakers) {
      if (!speakers.has(speaker.id)) speakers.set(speaker.id, speaker);
    }
  }
  return {
    id,
    ...description,
    sample_rate: models[0]?.sampleRate ?? 24_000,
    languages: [...new Set(models.flatMap(({ abilities }) => abilities.languages))],
    voices: [...speakers.values()],
    models: models.map(({ id: model, name, sampleRate, sizeBytes, abilities }) => ({
      id: model,
      name,
      sample_rate: sampleRate,
      size_bytes: sizeBytes,
      ...abilities,
    })),
    size_bytes: models.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0),
    built_in: models.some(({ builtIn }) => builtIn),
  };
}
