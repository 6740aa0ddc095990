import { DeviceBook } from '../../main/memory/device-book.ts';
import { loadComponent } from '../../main/memory/load-component.ts';
import type { GraphBuilder } from '../../main/nn/graph.ts';
import { Linear } from '../../main/nn/layers/linear.ts';
import { Module } from '../../main/nn/module.ts';
import type { Tensor } from '../../main/nn/tensor.ts';
import type { DType, OpenDeviceOptions } from '../../native/addon.ts';
import { loadAddon } from '../../native/load.ts';
import { layerShapes, width } from './random-checkpoint.ts';

/** Where the weights go and in which type. */
export type Way = 'cpu' | 'simulated' | 'cpu-f32' | 'cpu-f16' | 'cpu-q8_0' | SharedWay | PinnedWay;

/** On a device that shares the processor's memory: copied there, or used where they lie. */
export type SharedWay = `${'unified' | 'vulkan'}-${'copied' | 'mapped'}`;

/** Widened to f32, on a card: the host copy in plain memory, or page-locked. */
export type PinnedWay = `${'simulated' | 'vulkan'}-converted${'' | '-pinned'}`;

class Layer extends Module {
  readonly up = new Linear(layerShapes.up[1], layerShapes.up[0], { bias: false });
  readonly down = new Linear(layerShapes.down[1], layerShapes.down[0], { bias: false });
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return x.add(this.down.forward(g, this.up.forward(g, x)));
  }
}

class Layers extends Module {
  readonly layers: Layer[];
  constructor(count: number) {
    super();
    this.layers = Array.from({ length: count }, () => new Layer());
  }
  forward(g: GraphBuilder, x: Tensor): Tensor {
    return this.layers.reduce((y, layer) => layer.forward(g, y), x);
  }
}

export interface Loaded {
  seconds: number;
  /** Of `seconds`: until everything was in its place. */
  placedSeconds: number;
  /** Weights that the device uses where they lie in the checkpoint. */
  mappedBytes: number;
  /** Until everything was placed again, after it had left. */
  againSeconds: number;
  /** Held by a simulated device. */
  deviceBytes: number;
  /** Host memory that the weights keep. */
  ownedBytes: number;
}

/** Loads the checkpoint as a component of an engine and runs it once; `begin` is awaited right before. */
export async function loadOnce(way: Way, path: string, begin: () => Promise<void>): Promise<Loaded> {
  const addon = loadAddon();
  const device = await addon.openDevice(deviceOf(way));
  const book = new DeviceBook(device);
  globalThis.gc?.();
  await begin();
  const start = performance.now();
  const checkpoint = await addon.openCheckpoint([path]);
  const module = new Layers(checkpoint.tensors.length / 2);
  const target = way === 'cpu-f16' || way === 'cpu-q8_0' ? (way.slice(4) as DType) : null;
  let ownedBytes: number;
  let mappedBytes = 0;
  let placedSeconds = 0;
  let againSeconds = 0;
  if (target !== null) {
    // No engine asks for these yet; the weights' own conversion is what is measured.
    const store = addon.createWeightStore(
      'layers',
      checkpoint.tensors.map(({ name, shape }) => ({
        name,
        shape,
        dtype: target,
        unit: -1,
        source: { checkpoint, tensor: name },
      })),
    );
    checkpoint.close();
    store.bind(device);
    await store.place(-1);
    ownedBytes = store.ownedHostBytes;
  } else {
    const { handle } = await loadComponent({
      addon,
      engine: 'bench',
      model: 'bench',
      component: 'layers',
      kind: 'oneshot',
      module,
      checkpoint,
      book,
      dtype: way === 'cpu-f32' || way.includes('-converted') ? 'f32' : 'keep',
    });
    checkpoint.close();
    for (let unit = -1; unit < handle.unitCount; unit++) {
      if (way.endsWith('-pinned')) await handle.store.pin(unit);
      await handle.placeUnit(unit, undefined, way.endsWith('-mapped'));
    }
    placedSeconds = (performance.now() - start) / 1000;
    if (way.includes('-converted')) {
      await handle.leave();
      const again = performance.now();
      for (let unit = -1; unit < handle.unitCount; unit++) await handle.placeUnit(unit);
      againSeconds = (performance.now() - again) / 1000;
    }
    const { GraphBuilder } = await import('../../main/nn/graph.ts');
    const g = new GraphBuilder(addon);
    g.output('y', module.forward(g, g.input('x', 'f32', [1, width])));
    const graph = g.compile(device, book.arena);
    await graph.run({ x: new Float32Array(width).fill(0.01) });
    ownedBytes = handle.hostBytes;
    mappedBytes = handle.mappedBytes;
  }
  const seconds = (performance.now() - start) / 1000;
  const card = way.startsWith('simulated');
  const held = Object.values(device.memory().held).reduce((sum, bytes) => sum + bytes, 0);
  const deviceBytes = card ? held : 0;
  return { seconds, placedSeconds, againSeconds, mappedBytes, deviceBytes, ownedBytes };
}

function deviceOf(way: Way): OpenDeviceOptions {
  if (way.startsWith('vulkan')) return { name: 'Vulkan0', importHostMemory: true };
  const simulated = way.startsWith('simulated') || way.startsWith('unified');
  return { name: 'CPU', threads: 2, ...(simulated ? { simulateBytes: 2 ** 33 } : {}) };
}
