import type { Addon, DeviceInfo } from '../../native/addon.ts';
import { type Settings, StudioError, type VerifyRun } from '../contract/index.ts';
import type { EngineDefinition } from '../engines/engine.ts';
import { plainTask } from '../engines/plain-task.ts';
import type { InstalledModel } from '../models/types.ts';
import { chooseDevice } from '../runtime/device-service.ts';
import type { VerifySubject } from '../runtime/verify/speak-once.ts';
import { brokenRun, onGraphics, type PlainRun, verifySubject } from '../runtime/verify/verify.ts';
import { noVoicePrompts } from '../voices/voice-prompts.ts';
import { toErrorBody } from './failures.ts';
import type { StartDeviceProcess } from './isolated/device-task.ts';
import { runDeviceTask } from './isolated/run-task.ts';
import { voiced } from './voiced.ts';

export interface VerifyEnginesOptions {
  addon: Addon;
  definitions: readonly EngineDefinition[];
  /** The model of an engine that is verified, by the engine's id; default: its first built-in one. */
  models?: ReadonlyMap<string, InstalledModel>;
  settings: Settings;
  /** Keys of `settings` that this verification asked for. */
  asked: readonly string[];
  text: string | undefined;
  signal: AbortSignal;
  onRun?: (run: VerifyRun) => void;
  /** Graphics devices are verified in processes of their own; absent: here. */
  startProcess?: StartDeviceProcess;
}

/**
 * Verifies these engines, whichever they are: nothing here knows one by name.
 *
 * @throws StudioError `device_not_found`, `cancelled`, `model_not_installed`
 */
export async function verifyEngines(options: VerifyEnginesOptions): Promise<VerifyRun[]> {
  const { definitions, models, text, onRun, startProcess, ...rest } = options;
  // A device that was asked for and is not there would be a verification of nothing.
  if (rest.asked.includes('compute.device'))
    chooseDevice({ ...rest.settings, 'compute.simulate_vram_mb': null }, rest.addon.devices());
  const runs: VerifyRun[] = [];
  for (const definition of definitions) {
    const model = models?.get(definition.id) ?? builtInModel(definition);
    const onDevice =
      startProcess &&
      ((device: DeviceInfo, plain: PlainRun) =>
        verifyElsewhere(startProcess, model, device.name, plain, options));
    const about = { ...rest, toErrorBody, ...(onDevice === undefined ? {} : { onDevice }) };
    for await (const run of verifySubject(subjectOf(definition, model, text), about)) {
      runs.push(run);
      onRun?.(run);
    }
  }
  return runs;
}

/** In a process of its own: a driver that crashes or hangs is a run that failed. */
async function* verifyElsewhere(
  start: StartDeviceProcess,
  model: InstalledModel,
  device: string,
  plain: PlainRun,
  { settings, asked, text, signal }: VerifyEnginesOptions,
): AsyncGenerator<VerifyRun, void, void> {
  const { samples, sizeBytes, workingBytes } = plain;
  const { engine } = model;
  const about = { engine, model, device, settings, asked: [...asked], text };
  const runs: VerifyRun[] = [];
  let wake: () => void = () => {};
  const onRun = (run: VerifyRun): void => {
    runs.push(run);
    wake();
  };
  let over = false;
  let failed: unknown = null;
  void runDeviceTask(
    start,
    { kind: 'verify', ...about, plain: { samples, sizeBytes, workingBytes } },
    { signal, onRun },
  )
    .catch((error: unknown) => {
      failed = error;
    })
    .finally(() => {
      over = true;
      wake();
    });
  let given = 0;
  for (;;) {
    if (given < runs.length) yield runs[given++]!;
    else if (over) break;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  if (signal.aborted) throw new StudioError('cancelled', 'Cancelled; the verification is not complete.');
  if (failed !== null) yield brokenRun(engine, device, given, toErrorBody(failed));
}

export interface VerifyOnDeviceOptions
  extends Pick<VerifyEnginesOptions, 'addon' | 'settings' | 'asked' | 'text' | 'signal'> {
  /** Called whenever the engine gets on. */
  onStep: () => void;
}

/** The runs of one engine on one graphics device, in this process. */
export async function* verifyOnDevice(
  definition: EngineDefinition,
  model: InstalledModel,
  device: string,
  plain: PlainRun,
  { text, onStep, ...rest }: VerifyOnDeviceOptions,
): AsyncGenerator<VerifyRun, void, void> {
  const info = rest.addon.devices().find(({ name }) => name === device);
  if (info === undefined)
    throw new StudioError('device_not_found', `The device ${device} is gone.`, { params: { gone: device } });
  const subject = subjectOf(definition, model, text);
  const watched: VerifySubject = {
    ...subject,
    open: async (...args) => {
      onStep();
      const opened = await subject.open(...args);
      onStep();
      return {
        ...opened,
        async *speak(context) {
          for await (const chunk of opened.speak(context)) {
            onStep();
            yield chunk;
          }
        },
      };
    },
  };
  yield* onGraphics(watched, { ...rest, toErrorBody }, info, plain);
}

/** @throws StudioError `model_not_installed` */
function builtInModel({ id, builtIn }: EngineDefinition): InstalledModel {
  const model = builtIn()[0];
  if (model) return model;
  throw new StudioError(
    'model_not_installed',
    `No model of the engine "${id}" is installed. See "mizuoto models".`,
    {
      params: { model: id, engine: id },
    },
  );
}

function subjectOf(
  definition: EngineDefinition,
  model: InstalledModel,
  text: string | undefined,
): VerifySubject {
  const { parameters } = definition.description;
  const task = plainTask(model, parameters, text ?? shortText(model.abilities.languages));
  return {
    engine: definition.id,
    open: async (runtime, book, signal) => {
      // Every run computes its own prompt: one that was kept would skip what is verified.
      const services = { addon: runtime.addon, voicePrompts: noVoicePrompts };
      const lease = await runtime.acquire(definition.model(services, model), book, signal);
      return {
        handles: lease.handles,
        workingBytes: lease.value.memoryRequired(task),
        speak: (context) => voiced(lease, task, context),
        release: () => lease.release(),
      };
    },
  };
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

function shortText(languages: readonly string[]): string {
  const spoken = languages.map((tag) => tag.split('-', 1)[0]!.toLowerCase());
  const language = spoken.includes('en') ? 'en' : spoken.find((tag) => tag in shortTexts);
  return shortTexts[language ?? 'en']!;
}
