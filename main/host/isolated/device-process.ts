import { loadAddon } from '../../../native/load.ts';
import { findEngine } from '../../engines/registry.ts';
import { selfTest } from '../../runtime/verify/self-test.ts';
import { toErrorBody } from '../failures.ts';
import { verifyOnDevice } from '../verify-engines.ts';
import type { DeviceTask, FromDeviceProcess } from './device-task.ts';
import { parentOf } from './own-process.ts';

const parent = parentOf(() => process.exit(0));
const send = (message: FromDeviceProcess): void => parent.send(message);

async function perform(task: DeviceTask): Promise<void> {
  try {
    send({ type: 'step', step: 'loading' });
    const addon = loadAddon();
    const devices = addon.devices();
    if (task.kind === 'list') return send({ type: 'done', test: null });
    if (task.kind === 'self-test') {
      const info = devices.find(({ name }) => name === task.device);
      if (info === undefined) throw notThere(task.device);
      const test = await selfTest(addon, info, toErrorBody, (step) => send({ type: 'step', step }));
      return send({ type: 'done', test });
    }
    const { engine, model, device, settings, asked, text, plain } = task;
    const onStep = () => send({ type: 'step', step: 'speaking' });
    const about = { addon, settings, asked, text, onStep, signal: new AbortController().signal };
    for await (const run of verifyOnDevice(findEngine(engine), model, device, plain, about)) {
      send({ type: 'run', run });
    }
    send({ type: 'done', test: null });
  } catch (error) {
    send({ type: 'failed', error: toErrorBody(error) });
  }
}

function notThere(device: string): Error {
  return Object.assign(new Error(`The device ${device} is gone.`), { code: 'DeviceNotFound' });
}

parent.onMessage((task) => void perform(task as DeviceTask));
