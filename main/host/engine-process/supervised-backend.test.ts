import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { DeviceInfo } from '../../../native/addon.ts';
import { defaultSettings, type Said, type Settings, StudioError } from '../../contract/index.ts';
import { lostAndReopened } from '../../runtime/lost-device.ts';
import type { SpeechContext, SpeechOutcome, SpeechTask, SpokenChunk } from '../backend.ts';
import { InstalledEngines } from '../installed-engines.ts';
import { toneModel } from '../testing/echo-engine.ts';
import { type MemoryProcess, processesInMemory } from '../testing/process-in-memory.ts';
import { ToneBackend, toneOf } from '../testing/tone-engine.ts';
import { lossLimit, lossMinutes } from './device-health.ts';
import type { EngineSide } from './protocol.ts';
import type { Patience } from './remote-engine.ts';
import { SupervisedBackend } from './supervised-backend.ts';

const caps = { async: true, hostBuffer: true, bufferFromHostPtr: false, events: true };
const device = (name: string, kind: DeviceInfo['kind'], totalBytes: number): DeviceInfo => ({
  name,
  kind,
  description: name,
  backend: 'fake',
  freeBytes: totalBytes,
  totalBytes,
  caps,
});
const devices = [
  device('CPU', 'cpu', 2 ** 34),
  device('Vulkan0', 'gpu', 2 ** 33),
  device('Vulkan1', 'gpu', 2 ** 32),
];

/** What a device does to the request of this attempt. */
type Trouble = 'lost' | 'lost later' | 'lost and crash' | 'crash' | 'crash later' | null;

/** The tone engine on devices that are lost as the test says. */
class FragileSide extends ToneBackend implements EngineSide {
  loads: string[] = [];
  pins: [string, boolean][] = [];
  models: unknown = null;
  closed = false;
  readonly #known = new InstalledEngines([]);

  constructor(
    readonly process: MemoryProcess,
    readonly rig: Rig,
    public passedOver: readonly string[],
  ) {
    super();
  }

  devices(): DeviceInfo[] {
    return devices;
  }

  passOver(names: readonly string[]): void {
    this.passedOver = names;
  }

  override setModels(models: never): void {
    this.models = models;
  }

  override async load(model: string): Promise<void> {
    this.loads.push(model);
    const trouble = this.rig.loadTrouble.shift() ?? null;
    if (trouble === 'lost') throw lostAndReopened('Vulkan0');
    if (trouble === 'crash') {
      this.process.crash();
      await sleep(10_000);
    }
    await super.load(model);
  }

  override async pin(model: string, pinned: boolean): Promise<void> {
    this.pins.push([model, pinned]);
    await super.pin(model, pinned);
  }

  override async *speak(
    task: SpeechTask,
    context: SpeechContext,
  ): AsyncGenerator<SpokenChunk, SpeechOutcome, void> {
    const { id } = this.#known.queueFor('tone', task.settings, devices, new Set(this.passedOver));
    this.rig.spoken.push({ process: this.process.number, device: id });
    const trouble = id === 'CPU' && !this.rig.hurtsProcessor ? null : (this.rig.trouble.shift() ?? null);
    await this.rig.before?.(id);
    const fail = async (): Promise<void> => {
      if (trouble === 'lost and crash') setImmediate(() => setImmediate(() => this.process.crash()));
      if (trouble?.startsWith('lost')) throw lostAndReopened(id);
      this.process.crash();
      await sleep(10_000);
    };
    if (trouble !== null && !trouble.endsWith('later')) await fail();
    const stream = super.speak(task, context);
    for (let first = true; ; first = false) {
      const step = await stream.next();
      if (step.done) return step.value;
      yield step.value;
      if (first && trouble !== null) await fail();
    }
  }

  override async close(): Promise<void> {
    this.closed = true;
    await super.close();
  }
}

interface Rig {
  trouble: Trouble[];
  loadTrouble: ('lost' | 'crash' | null)[];
  spoken: { process: number; device: string }[];
  hurtsProcessor: boolean;
  before: ((device: string) => Promise<void>) | null;
}

const text = 'One. Two. Three.';
const spokenText = ['One.', 'Two.', 'Three.'].map((sentence) =>
  toneOf(sentence, { seed: 5, speed: 1, pitch: 1 }),
);
const opened: SupervisedBackend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

async function open(change: Partial<Settings> = {}, patience: Partial<Patience> = {}) {
  const rig: Rig = { trouble: [], loadTrouble: [], spoken: [], hurtsProcessor: false, before: null };
  const sides: FragileSide[] = [];
  const { startProcess, started } = processesInMemory(async (process, { passOver }) => {
    const side = new FragileSide(process, rig, passOver);
    sides.push(side);
    return side;
  });
  const clock = { now: 1_000_000 };
  const logged: { message: string; said?: Said }[] = [];
  const settings = { ...defaultSettings(), ...change };
  const backend = await SupervisedBackend.open({
    cacheFolder: '',
    testEngines: true,
    settings,
    known: new InstalledEngines([]),
    startProcess,
    log: (_level, message, said) => logged.push({ message, ...(said === undefined ? {} : { said }) }),
    now: () => clock.now,
    patience,
  });
  opened.push(backend);
  const speak = async (of: Partial<Settings> = {}, signal = new AbortController().signal) => {
    const task = {
      ...{ engine: 'tone', model: 'tone', voice: 'tone', text, seed: 5, speed: 1, pitch: 1, language: 'en' },
      ...{ parameters: {}, reference: null, instruct: null, sampleRate: 16_000, warnings: [] },
      settings: { ...settings, ...of },
    } as unknown as SpeechTask;
    const heard: Float32Array[] = [];
    const stream = backend.speak(task, { signal, progress: () => {} });
    for (;;) {
      const step = await stream.next();
      if (step.done) return { heard, warnings: step.value.warnings };
      heard.push(step.value.samples);
    }
  };
  const codes = async (): Promise<string[]> => (await backend.view()).incidents.map(({ said }) => said.code);
  return { backend, rig, sides, started, clock, logged, speak, codes, settings };
}

describe('a device that is lost', () => {
  it('before the first sound: the request is repeated on a fresh process, to the same samples', async () => {
    const { rig, speak, codes, started } = await open();
    rig.trouble = ['lost'];
    const { heard, warnings } = await speak();
    expect(heard).toEqual(spokenText);
    expect(warnings.map(({ code }) => code)).toEqual(['request_repeated']);
    expect(rig.spoken).toEqual([
      { process: 1, device: 'Vulkan0' },
      { process: 2, device: 'Vulkan0' },
    ]);
    await expect.poll(() => started.map(({ alive }) => alive)).toEqual([false, true]);
    expect(await codes()).toEqual(['device_replaced']);
    // A device that answers again says nothing more.
    expect((await speak()).warnings).toEqual([]);
  });

  it('after the first sound: the request ends with its reason, and the next one speaks', async () => {
    const { rig, speak, codes } = await open();
    rig.trouble = ['lost later'];
    const failure = await speak().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StudioError);
    expect(failure).toMatchObject({
      code: 'device_lost',
      retryable: true,
      params: { device: 'Vulkan0', replaced: 'Vulkan0' },
    });
    expect((failure as StudioError).message).toMatch(/^Vulkan0 stopped responding.*fresh process: try again/);
    expect((await speak()).heard).toEqual(spokenText);
    expect(rig.spoken.map(({ process }) => process)).toEqual([1, 2]);
    expect(await codes()).toEqual(['device_replaced']);
  });

  it('twice under one request: that request ends, once repeated', async () => {
    const { rig, speak } = await open();
    rig.trouble = ['lost', 'lost'];
    await expect(speak()).rejects.toMatchObject({ code: 'device_lost', retryable: true });
    expect(rig.spoken.map(({ process }) => process)).toEqual([1, 2]);
    expect((await speak()).heard).toEqual(spokenText);
  });

  it('under several requests at once: it is one loss, and all of them are repeated', async () => {
    const { rig, speak, codes, started } = await open();
    rig.trouble = ['lost', 'lost', 'lost'];
    const all = await Promise.all([speak(), speak(), speak()]);
    for (const { heard } of all) expect(heard).toEqual(spokenText);
    expect(started).toHaveLength(2);
    expect(await codes()).toEqual(['device_replaced']);
  });

  it('leaves a request on another device alone: the old process ends after it', async () => {
    const { rig, speak, started } = await open();
    let let_go: () => void = () => {};
    rig.before = (id) =>
      id === 'CPU'
        ? new Promise((resolve) => {
            let_go = resolve;
          })
        : Promise.resolve();
    const slow = speak({ 'compute.device': 'CPU' });
    await expect.poll(() => rig.spoken.length).toBe(1);
    rig.trouble = ['lost'];
    await speak();
    expect(started.map(({ alive }) => alive)).toEqual([true, true]);
    let_go();
    expect((await slow).heard).toEqual(spokenText);
    await expect.poll(() => started.map(({ alive }) => alive)).toEqual([false, true]);
  });

  it('again and again: auto passes over it, and says so with every result', async () => {
    const { rig, speak, codes, sides, backend } = await open();
    rig.trouble = ['lost', 'lost', 'lost'];
    await expect(speak()).rejects.toMatchObject({ code: 'device_lost' });
    const { heard, warnings } = await speak();
    expect(heard).toEqual(spokenText);
    expect(warnings.map(({ code }) => code)).toEqual(['request_repeated', 'device_passed_over']);
    expect(warnings[1]!.message).toBe(
      'Computed on Vulkan1: Vulkan0 was lost 3 times within 10 minutes and is not used any more.',
    );
    expect(rig.spoken.map(({ device: used }) => used)).toEqual(['Vulkan0', 'Vulkan0', 'Vulkan0', 'Vulkan1']);
    expect(sides.at(-1)!.passedOver).toEqual(['Vulkan0']);
    expect((await codes()).slice(0, 2)).toEqual(['device_given_up', 'device_replaced']);
    expect((await speak()).warnings.map(({ code }) => code)).toEqual(['device_passed_over']);
    expect(backend.queueFor('tone', defaultSettings()).id).toBe('Vulkan1');
    // The next one is given up as well; the processor is what is left.
    rig.trouble = ['lost', 'lost', 'lost'];
    await speak().catch(() => {});
    await speak();
    expect((await speak()).heard).toEqual(spokenText);
    expect(rig.spoken.at(-1)!.device).toBe('CPU');
  });

  it('again and again, and asked for by name: refused with what to do, until it is chosen anew', async () => {
    const { rig, speak, backend, settings, sides } = await open({ 'compute.device': 'Vulkan0' });
    rig.trouble = ['lost', 'lost', 'lost'];
    await speak().catch(() => {});
    const third = await speak().catch((error: unknown) => error as StudioError);
    const refused = await speak().catch((error: unknown) => error as StudioError);
    for (const error of [third, refused]) {
      expect(error).toMatchObject({
        code: 'device_lost',
        retryable: false,
        params: { given_up: 'Vulkan0', times: lossLimit, minutes: lossMinutes },
      });
      expect((error as StudioError).message).toMatch(/not tried again.*compute\.device=auto or CPU/);
    }
    expect(rig.spoken).toHaveLength(3);
    await expect(backend.load('tone')).rejects.toMatchObject({ code: 'device_lost' });
    expect((await speak({ 'compute.device': 'CPU' })).heard).toEqual(spokenText);
    await backend.configure({ ...settings, 'compute.device': 'auto' });
    expect((await speak({ 'compute.device': 'auto' })).warnings).toEqual([]);
    expect(rig.spoken.at(-1)!.device).toBe('Vulkan0');
    expect(sides.at(-1)!.passedOver).toEqual([]);
  });

  it('now and then: losses that are long ago do not count', async () => {
    const { rig, speak, clock } = await open();
    for (let loss = 0; loss < 6; loss++) {
      rig.trouble = ['lost'];
      expect((await speak()).warnings.map(({ code }) => code)).toEqual(['request_repeated']);
      clock.now += (lossMinutes / 2 + 0.1) * 60_000;
    }
    expect(new Set(rig.spoken.map(({ device: used }) => used))).toEqual(new Set(['Vulkan0']));
  });
});

describe('a driver that crashes', () => {
  it('takes its process along: the request is repeated, the reason told', async () => {
    const { rig, speak, codes, started } = await open();
    rig.trouble = ['crash'];
    const { heard, warnings } = await speak();
    expect(heard).toEqual(spokenText);
    expect(warnings.map(({ code }) => code)).toEqual(['request_repeated']);
    expect(started).toHaveLength(2);
    expect(await codes()).toEqual(['driver_crashed']);
  });

  it('in the middle of the audio: a typed error with the signal', async () => {
    const { rig, speak } = await open();
    rig.trouble = ['crash later'];
    await expect(speak()).rejects.toMatchObject({
      code: 'device_lost',
      params: { device: 'Vulkan0', how: 'SIGSEGV' },
      message: expect.stringMatching(/^The driver of Vulkan0 crashed \(SIGSEGV\)/),
    });
    expect((await speak()).heard).toEqual(spokenText);
  });

  it('again and again on the processor: it stays down for a while, and then is tried again', async () => {
    const { rig, speak, clock, backend, started } = await open({ 'compute.device': 'CPU' });
    rig.hurtsProcessor = true;
    rig.trouble = ['crash', 'crash', 'crash'];
    await expect(speak()).rejects.toMatchObject({ code: 'host_crashed', params: { how: 'SIGSEGV' } });
    await expect(speak()).rejects.toMatchObject({ code: 'host_crashed', params: { crashes: 3 } });
    await expect(backend.view()).rejects.toMatchObject({ code: 'host_crashed' });
    expect(started).toHaveLength(3);
    clock.now += lossMinutes * 60_000;
    expect((await speak()).heard).toEqual(spokenText);
  });

  it('again and again, once it was looked at: what happened can still be seen, with nothing loaded', async () => {
    const { rig, speak, clock, backend, started, codes } = await open({ 'compute.device': 'CPU' });
    await speak();
    const before = await backend.view();
    expect(before.models).toHaveLength(1);
    // Of both processes.
    expect(before.host.process_bytes).toBeGreaterThan(64 * 2 ** 20);
    rig.hurtsProcessor = true;
    rig.trouble = ['crash later', 'crash later', 'crash later'];
    const errors = [];
    for (let crash = 0; crash < 3; crash++) errors.push(await speak().catch((error: unknown) => error));
    expect(errors.map((error) => (error as StudioError).params)).toEqual([
      { how: 'SIGSEGV' },
      { how: 'SIGSEGV' },
      { crashes: lossLimit, minutes: lossMinutes },
    ]);
    expect(await codes()).toEqual(['engine_left_alone', 'engine_crashed', 'engine_crashed']);
    const down = await backend.view();
    expect(down.models).toEqual([]);
    expect(down.devices.map(({ id }) => id)).toEqual(before.devices.map(({ id }) => id));
    expect(down.devices.flatMap(({ held }) => Object.values(held)).every((bytes) => bytes === 0)).toBe(true);
    expect(started).toHaveLength(3);
    clock.now += lossMinutes * 60_000;
    expect((await backend.view()).devices).toHaveLength(before.devices.length);
    expect(started).toHaveLength(4);
  });

  it('while something is asked: the question is answered by the next process', async () => {
    const { backend, started, codes } = await open();
    const view = backend.view();
    started[0]!.crash();
    expect((await view).devices).toHaveLength(1);
    expect(started).toHaveLength(2);
    expect(await codes()).toEqual(['engine_crashed']);
  });
});

it('a device that is lost as its driver crashes is one loss, and leaves no process behind', async () => {
  const { rig, speak, codes, started, backend } = await open();
  rig.trouble = ['lost and crash', 'lost and crash'];
  const both = await Promise.all([speak(), speak()]);
  for (const { heard } of both) expect(heard).toEqual(spokenText);
  expect((await codes()).length).toBe(1);
  expect(started).toHaveLength(2);
  await backend.close();
  expect(started.map(({ alive }) => alive)).toEqual([false, false]);
});

describe('a device that hangs', () => {
  it('is ended when it hears no cancel: the request is cancelled, the next one speaks', async () => {
    const { rig, speak, codes, started } = await open({}, { cancelMs: 50 });
    rig.before = () => sleep(60_000);
    const abort = new AbortController();
    const stuck = speak({}, abort.signal);
    await expect.poll(() => rig.spoken.length).toBe(1);
    abort.abort();
    // The host makes `cancelled` of whatever ends a request whose signal is aborted.
    await expect(stuck).rejects.toMatchObject({ code: 'device_lost', params: { how: 'no answer for 0 s' } });
    rig.before = null;
    expect((await speak()).heard).toEqual(spokenText);
    expect(started.map(({ alive }) => alive)).toEqual([false, true]);
    expect(await codes()).toEqual(['driver_crashed']);
  });

  it('as its drivers are loaded is an error, and tried again by the next question', async () => {
    const hanging = processesInMemory(() => new Promise(() => {}));
    const opening = SupervisedBackend.open({
      ...{ cacheFolder: '', testEngines: true, settings: defaultSettings() },
      ...{ known: new InstalledEngines([]), log: () => {}, patience: { openMs: 50 } },
      ...hanging,
    });
    await expect(opening).rejects.toMatchObject({
      code: 'host_crashed',
      params: { how: 'no answer for 0 s' },
    });
  });
});

describe('what survives', () => {
  it.each(['lost', 'crash'] as const)('pins, wishes, models and settings (%s)', async (trouble) => {
    const { backend, rig, speak, sides, settings } = await open();
    backend.setModels([toneModel('tone', {})]);
    await backend.load('tone');
    await backend.pin('tone', true);
    await backend.view();
    const next = { ...settings, 'compute.kv_cache': 'static' as const };
    await backend.configure(next);
    rig.trouble = [trouble];
    await speak();
    const fresh = sides[1]!;
    expect(fresh.pins).toEqual([['tone', true]]);
    expect(fresh.loads).toContain('tone');
    expect(fresh.models).toEqual([toneModel('tone', {})]);
    await expect.poll(async () => (await backend.view()).models.map(({ id }) => id)).toEqual(['tone']);
  });

  it('what was unloaded stays unloaded, a pin that the settings overrule stays overruled', async () => {
    const { backend, rig, speak, sides, settings } = await open();
    await backend.load('tone');
    await backend.pin('tone', true);
    await backend.unload('tone');
    await backend.configure({ ...settings, 'engines.mini.pinned_models': ['mini'] });
    await backend.view();
    rig.trouble = ['lost'];
    await speak();
    expect(sides[1]!.pins).toEqual([]);
    // The tone engine loads its model itself when it speaks.
    expect(sides[1]!.loads).toEqual(['tone']);
  });

  it.each(['lost', 'crash'] as const)(
    'a wish that meets the loss is granted on the next process (%s)',
    async (trouble) => {
      const { backend, rig, sides } = await open();
      rig.loadTrouble = [trouble];
      await backend.load('tone');
      expect(sides.map(({ loads }) => loads)).toEqual([['tone'], ['tone']]);
    },
  );

  it('the timeline goes on: events have ids that grow', async () => {
    const { backend, rig, speak, sides } = await open();
    const event = (id: number) => ({
      ...{ id, at: id, kind: 'load' as const, device: 'CPU', subject: 'tone', bytes: 1, units: 1 },
      ...{ milliseconds: null, said: null },
    });
    const shown = (side: FragileSide, ids: number[]): void => {
      side.timeline = ({ after }) => ({
        ...{ at: 0, samples: [], devices: [] },
        events: ids.filter((id) => id > after).map(event),
      });
    };
    const ids = async (after: number) =>
      (await backend.timeline({ after, since: 0 })).events.map(({ id }) => id);
    shown(sides[0]!, [1, 2, 3]);
    expect(await ids(0)).toEqual([1, 2, 3]);
    shown(sides[0]!, [1, 2, 3, 4]);
    rig.trouble = ['lost'];
    await speak();
    shown(sides[1]!, [1, 2]);
    expect(await ids(3)).toEqual([4, 5, 6]);
    expect(await ids(5)).toEqual([6]);
    expect(await ids(0)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('the end', () => {
  it('a cancel reaches the process and is no loss', async () => {
    const { speak, rig, codes } = await open();
    const abort = new AbortController();
    rig.before = async () => {
      abort.abort();
      await sleep(5);
    };
    await expect(speak({}, abort.signal)).rejects.toMatchObject({ code: 'cancelled' });
    rig.before = null;
    expect(await codes()).toEqual([]);
    expect((await speak()).heard).toEqual(spokenText);
  });

  it('what is asked while it closes is cancelled', async () => {
    const { backend, rig, speak, settings } = await open();
    rig.before = () => sleep(10_000);
    const task = { engines: ['tone'], settings, asked: [], text: 'stall' };
    const asked = [speak(), backend.view(), backend.verify(task, () => {})];
    const answers = Promise.allSettled(asked);
    await expect.poll(() => rig.spoken.length).toBe(1);
    await backend.close();
    for (const answer of await answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'cancelled' });
    }
    await expect(asked[0]).rejects.toMatchObject({ code: 'cancelled' });
  }, 20_000);

  it('closing closes the process, and nothing new is started', async () => {
    const { backend, sides, started, speak } = await open();
    await backend.close();
    expect(sides[0]!.closed).toBe(true);
    expect(started.map(({ alive }) => alive)).toEqual([false]);
    await expect(speak()).rejects.toMatchObject({ code: 'host_unreachable' });
    expect(started).toHaveLength(1);
  });
});

it('engines that do not open say why; a process that cannot be had is told apart', async () => {
  const about = {
    ...{ cacheFolder: '', testEngines: true, settings: defaultSettings() },
    ...{ known: new InstalledEngines([]), log: () => {} },
  };
  const failing = processesInMemory(() =>
    Promise.reject(new StudioError('backend_missing', 'It is missing.')),
  );
  await expect(SupervisedBackend.open({ ...about, ...failing })).rejects.toMatchObject({
    code: 'backend_missing',
  });
  const crashing = processesInMemory((process) => {
    setTimeout(() => process.crash(), 5);
    return new Promise(() => {});
  });
  await expect(SupervisedBackend.open({ ...about, ...crashing })).rejects.toMatchObject({
    code: 'host_crashed',
  });
  const absent = () => ({
    ...{ send: () => {}, onMessage: () => {}, kill: () => {} },
    onEnd: (listener: (end: { code: null; signal: null }) => void) =>
      void setImmediate(() => listener({ code: null, signal: null })),
  });
  await expect(SupervisedBackend.open({ ...about, startProcess: absent })).rejects.toMatchObject({
    name: 'EngineGone',
    begun: false,
  });
});
