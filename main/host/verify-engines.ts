import type { Addon } from '../../native/addon.ts';
import { type EngineInfo, type Settings, StudioError, type VerifyRun } from '../contract/index.ts';
import type { EngineDefinition, SpeakTask } from '../engines/engine.ts';
import type { VerifySubject } from '../runtime/verify/speak-once.ts';
import { verifySubject } from '../runtime/verify/verify.ts';
import { toErrorBody } from './failures.ts';
import { voiced } from './voiced.ts';

export interface VerifyEnginesOptions {
  addon: Addon;
  definitions: readonly EngineDefinition[];
  settings: Settings;
  /** Keys of `settings` that this verification asked for. */
  asked: readonly string[];
  text: string | undefined;
  signal: AbortSignal;
  onRun?: (run: VerifyRun) => void;
}

/** Verifies these engines, whichever they are: nothing here knows one by name. */
export async function verifyEngines(options: VerifyEnginesOptions): Promise<VerifyRun[]> {
  const { definitions, text, onRun, ...rest } = options;
  const runs: VerifyRun[] = [];
  for (const definition of definitions) {
    for await (const run of verifySubject(subjectOf(definition, text), { ...rest, toErrorBody })) {
      runs.push(run);
      onRun?.(run);
    }
  }
  return runs;
}

function subjectOf(definition: EngineDefinition, text: string | undefined): VerifySubject {
  const info = definition.info();
  const voice = defaultVoice(info);
  const task: SpeakTask = { text: text ?? shortText(info), voice, seed: 1, speed: 1, pitch: 1 };
  return {
    engine: definition.id,
    open: async (runtime, book, signal) => {
      const lease = await runtime.acquire(definition.model(runtime.addon, voice), book, signal);
      return {
        handles: lease.handles,
        workingBytes: lease.value.memoryRequired(task),
        speak: (context) => voiced(lease, task, context),
        release: () => lease.release(),
      };
    },
  };
}

function defaultVoice({ id, parameters, voices }: EngineInfo): string {
  const chosen = parameters.find(({ key }) => key === 'voice')?.default;
  if (typeof chosen === 'string') return chosen;
  const first = voices[0];
  if (first) return first.id;
  throw new StudioError('unknown_voice', `The engine "${id}" has no voice to verify it with.`, {
    params: { engine: id, voice: '', known: '' },
  });
}

/** A few words for every script: what is verified is memory, and each word is computed many times. */
const shortTexts: Record<string, string> = {
  en: 'Water over stone.',
  zh: '水流过石头。',
  ja: '水が流れる。',
  ko: '물이 흐른다.',
  de: 'Wasser über Stein.',
  fr: "L'eau sur la pierre.",
  es: 'Agua sobre piedra.',
};

function shortText({ languages }: EngineInfo): string {
  const spoken = languages.map((tag) => tag.split('-', 1)[0]!.toLowerCase());
  const language = spoken.includes('en') ? 'en' : spoken.find((tag) => tag in shortTexts);
  return shortTexts[language ?? 'en']!;
}
