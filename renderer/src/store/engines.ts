import type { EngineInfo } from '../../../main/contract/runtime.ts';
import type { DraftSlice } from './draft.ts';

export interface EnginesSlice {
  engines: EngineInfo[];
}

export const enginesSlice = (): EnginesSlice => ({ engines: [] });

/** The engine of the draft, or the first there is when the draft names one that is gone. */
export function selectEngine(state: EnginesSlice & DraftSlice): EngineInfo | undefined {
  return state.engines.find((engine) => engine.id === state.draft.engine) ?? state.engines[0];
}

export function selectVoice(state: EnginesSlice & DraftSlice): EngineInfo['voices'][number] | undefined {
  const engine = selectEngine(state);
  return engine?.voices.find((voice) => voice.id === state.draft.voice) ?? engine?.voices[0];
}

/** An engine shows only what it has. */
export function parameterOf(engine: EngineInfo | undefined, key: 'speed' | 'pitch') {
  const found = engine?.parameters.find((parameter) => parameter.key === key);
  if (found === undefined) return undefined;
  return {
    minimum: found.minimum ?? 0.5,
    maximum: found.maximum ?? 2,
    step: found.step ?? 0.01,
    default: typeof found.default === 'number' ? found.default : 1,
  };
}
