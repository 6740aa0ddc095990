import { createHash } from 'node:crypto';
import type { Addon } from '../../../native/addon.ts';
import { loadAddon } from '../../../native/load.ts';
import { defaultSettings, type Settings } from '../../contract/settings.ts';
import type { DeviceBook } from '../../memory/device-book.ts';
import { RuntimeService } from '../runtime-service.ts';
import type { RequestContext } from '../stage-context.ts';
import { TwoStageEngine, type TwoStageShape } from './two-stage-engine.ts';

export const shape: TwoStageShape = { talkerBlocks: 5, decoderBlocks: 8 };
export const tokens = 6;

export interface Outcome {
  sha256: string;
  samples: number;
  ctx: RequestContext;
}

/** A runtime with the small engine on one device, checking its books after every step. */
export class RuntimeRig {
  private constructor(
    readonly addon: Addon,
    readonly runtime: RuntimeService,
    readonly settings: Settings,
    readonly book: DeviceBook,
    readonly shape: TwoStageShape,
  ) {}

  static async open(change: Partial<Settings> = {}, engine: TwoStageShape = shape): Promise<RuntimeRig> {
    const addon = loadAddon();
    const settings = { ...defaultSettings(), 'compute.device': 'CPU', 'compute.threads': 1, ...change };
    const runtime = await RuntimeService.open({ addon, settings, cacheFolder: null, checkAlways: true });
    return new RuntimeRig(addon, runtime, settings, await runtime.deviceFor(settings), engine);
  }

  async speak(
    options: { seed?: number; rows?: number; signal?: AbortSignal; owner?: string; model?: string } = {},
  ): Promise<Outcome> {
    const { seed = 7, signal = new AbortController().signal, owner = 'request' } = options;
    const source = TwoStageEngine.source(this.addon, this.shape, options.model);
    const lease = await this.runtime.acquire(source, this.book);
    const { settings, book } = this;
    const ctx = this.runtime.startRequest({ id: owner, book, settings, signal });
    try {
      const hash = createHash('sha256');
      let samples = 0;
      for await (const chunk of lease.value.speak(seed, options.rows ?? tokens, ctx)) {
        if (!chunk.every(Number.isFinite)) throw new Error('The output is not finite.');
        hash.update(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        samples += chunk.length;
      }
      return { sha256: hash.digest('hex'), samples, ctx };
    } finally {
      lease.release();
    }
  }

  /** Largest working memory of a stage. */
  async workingBytes(): Promise<number> {
    const lease = await this.runtime.acquire(TwoStageEngine.source(this.addon, this.shape), this.book);
    const { value } = lease;
    lease.release();
    return Math.max(value.memoryFor('talker', 1), value.memoryFor('decoder', tokens));
  }

  close(): Promise<void> {
    return this.runtime.close();
  }
}

export async function withRig<T>(
  change: Partial<Settings>,
  body: (rig: RuntimeRig) => Promise<T>,
  engine?: TwoStageShape,
): Promise<T> {
  const rig = await RuntimeRig.open(change, engine);
  try {
    return await body(rig);
  } finally {
    await rig.close();
  }
}
