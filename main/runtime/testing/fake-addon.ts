import type { Addon, CancelToken, DeviceInfo, OpenDeviceOptions } from '../../../native/addon.ts';
import { MiB } from '../../memory/policy.ts';
import { FakeDevice, FakeNativeError } from '../../memory/testing/fake-device.ts';

/** A machine that is only described: devices that count, host memory that a test sets. */
export class FakeAddon implements Addon {
  readonly versions = { addon: 'fake', ggml: 'fake', napi: 9 };
  readonly opened: FakeDevice[] = [];
  host = { totalBytes: 32_768 * MiB, availableBytes: 20_000 * MiB, processBytes: 500 * MiB };
  readonly #infos: DeviceInfo[];

  constructor(
    gpus: { name: string; kind?: DeviceInfo['kind']; totalMiB: number; description?: string }[] = [],
  ) {
    const caps = { async: true, hostBuffer: true, bufferFromHostPtr: false, events: true };
    const info = (
      name: string,
      kind: DeviceInfo['kind'],
      totalMiB: number,
      description: string,
    ): DeviceInfo => ({
      name,
      kind,
      description,
      backend: 'fake',
      freeBytes: totalMiB * MiB,
      totalBytes: totalMiB * MiB,
      caps,
    });
    this.#infos = [
      info('CPU', 'cpu', 32_768, 'A processor'),
      ...gpus.map(({ name, kind = 'gpu', totalMiB, description = 'A card' }) =>
        info(name, kind, totalMiB, description),
      ),
    ];
  }

  loadBackends(): void {}

  devices(): DeviceInfo[] {
    return this.#infos;
  }

  async openDevice(options: OpenDeviceOptions): Promise<FakeDevice> {
    const info = this.#infos.find(({ name }) => name === options.name);
    if (info === undefined) throw new FakeNativeError('DeviceNotFound', `No device ${options.name}.`);
    const isHost = info.kind === 'cpu' && options.simulateBytes === undefined;
    const totalMiB = (options.simulateBytes ?? info.totalBytes) / MiB;
    const device = new FakeDevice({ name: info.name, kind: info.kind, totalMiB, isHost });
    this.opened.push(device);
    return device;
  }

  createCancelToken(): CancelToken {
    let cancelled = false;
    return {
      cancel: () => {
        cancelled = true;
      },
      get cancelled() {
        return cancelled;
      },
    };
  }

  hostMemory(): { totalBytes: number; availableBytes: number; processBytes: number } {
    return this.host;
  }

  openCheckpoint(): never {
    throw new Error('The fake machine has no files.');
  }

  createWeightStore(): never {
    throw new Error('The fake machine has no weights.');
  }

  createRecorder(): never {
    throw new Error('The fake machine computes nothing.');
  }

  tensorBytes(): number {
    return 0;
  }
}
