import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Said, SpeakResult } from '../../contract/index.ts';
import { HostClient, type HostClientOptions } from '../client.ts';
import { startNodeProcess } from '../isolated/node-process.ts';
import type { OwnProcess } from '../isolated/own-process.ts';
import type { TestBundle } from './bundle.ts';

/** A studio whose engines are in processes of their own, which loses devices as a test says. */
export class ProcessStudio {
  readonly client: HostClient;
  readonly script: string;
  readonly processes: { process: OwnProcess; gone: boolean }[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'mizuoto-engine-process-'));

  /** A line for each device that is opened: the segment at which it is lost, 0 for one that stays. */
  constructor(bundle: TestBundle, losses: readonly number[], options: HostClientOptions = {}) {
    this.script = join(this.#folder, 'losses');
    process.env.MIZUOTO_TEST_LOSE_DEVICE = this.script;
    writeFileSync(this.script, losses.join('\n'));
    this.client = new HostClient({
      worker: bundle.path('host-worker'),
      configFolder: this.#folder,
      cacheFolder: this.#folder,
      testEngines: false,
      engineProcess: true,
      startProcess: (program) => {
        const started = { process: startNodeProcess(bundle.path(program)), gone: false };
        started.process.onEnd(() => {
          started.gone = true;
        });
        if (program === 'engine-process') this.processes.push(started);
        return started.process;
      },
      ...options,
    });
  }

  async speak(request: object = {}): Promise<{ bytes: Buffer; result: SpeakResult; warnings: Said[] }> {
    const asked = { text: 'Hello. The water is calm.', seed: 3, source: 'test' as const, ...request };
    const stream = this.client.speak(asked);
    const parts: Buffer[] = [];
    for await (const { samples } of stream) parts.push(Buffer.from(samples.buffer.slice(0)));
    const result = await stream.result;
    return { bytes: Buffer.concat(parts), result, warnings: result.warnings };
  }

  /** Codes of what happened, the latest first. */
  async incidents(): Promise<string[]> {
    return (await this.client.call('runtime.snapshot', {})).incidents.map(({ said }) => said.code);
  }

  /** None of its processes is left. */
  async close(): Promise<void> {
    await this.client.close();
    delete process.env.MIZUOTO_TEST_LOSE_DEVICE;
    await expect.poll(() => this.processes.map(({ gone }) => gone)).not.toContain(false);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
