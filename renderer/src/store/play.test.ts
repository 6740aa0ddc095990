import { describe, expect, it } from 'vitest';
import { StudioError } from '../../../main/contract/errors.ts';
import { fakeJob, fakeResult } from '../bridge/fake-data.ts';
import { settle } from '../testing/fake-timers.ts';
import { type TestStudio, testStudio } from '../testing/studio.ts';
import { deleteJob, editDraft, forgetDeleted, generate, undoDelete } from './commands.ts';
import { playJob, seekTo, setVolume, togglePlay } from './play.ts';

const rate = 24000;
const audio = (job_id: string, index: number) => ({
  job_id,
  index,
  sample_rate: rate,
  start: index * rate,
  samples: new Float32Array(rate).fill(0.2),
  text: 'words',
});

async function speakOne({ studio, host }: TestStudio, chunks = 2): Promise<string> {
  editDraft(studio, { text: 'Some words.' });
  await generate(studio);
  const id = studio.store.getState().jobOrder.at(-1)!;
  for (let i = 0; i < chunks; i++) host.emit('job.audio', audio(id, i));
  await settle();
  return id;
}
const player = ({ studio }: TestStudio) => studio.store.getState().player;
const finish = ({ host }: TestStudio, job_id: string) =>
  host.emit('job.finished', { job_id, result: fakeResult() });
/** A silent WAV file of so many seconds. */
function wavFile(seconds: number): Uint8Array<ArrayBuffer> {
  const wav = new Uint8Array(44 + 2 * rate * seconds);
  const view = new DataView(wav.buffer);
  for (const [at, text] of [
    [0, 'RIFF'],
    [8, 'WAVEfmt '],
    [36, 'data'],
  ] as const) {
    wav.set(new TextEncoder().encode(text), at);
  }
  view.setUint32(16, 16, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint16(34, 16, true);
  view.setUint32(40, 2 * rate * seconds, true);
  return wav;
}
/** Lets everything that is loaded be heard. */
async function playOut({ outputs, timers }: TestStudio, seconds = 10): Promise<void> {
  for (let i = 0; i < seconds * 4; i++) {
    outputs.at(-1)!.frame += rate / 4;
    await timers.advance(250);
  }
}

describe('playing', () => {
  it('starts with the first chunk, while the rest is still made', async () => {
    const test = await testStudio();
    const id = await speakOne(test, 1);
    expect(player(test)).toMatchObject({ jobId: id, status: 'playing' });
    expect(test.outputs[0]!.sound.size).toBe(rate);
  });

  it('starts even when the audio overtakes the answer to the request', async () => {
    const test = await testStudio();
    const { host, studio } = test;
    host.answers.speak = (request) => {
      host.emit('job.queued', fakeJob({ job_id: 'fast', text_preview: request.text }));
      host.emit('job.audio', audio('fast', 0));
      return { job_id: 'fast' };
    };
    editDraft(studio, { text: 'Quick.' });
    await generate(studio);
    expect(player(test)).toMatchObject({ jobId: 'fast', status: 'playing' });
  });

  it('does not interrupt what is being heard', async () => {
    const test = await testStudio();
    const first = await speakOne(test);
    finish(test, first);
    await speakOne(test);
    expect(player(test).jobId).toBe(first);
  });

  it('goes on with the next job of the queue', async () => {
    const test = await testStudio();
    const first = await speakOne(test);
    finish(test, first);
    await playOut(test);
    expect(player(test).status).toBe('ended');
    const second = await speakOne(test);
    expect(player(test)).toMatchObject({ jobId: second, status: 'playing' });
  });

  it('stays quiet for jobs under way when somebody paused, not for later ones', async () => {
    const test = await testStudio();
    const first = await speakOne(test, 1);
    editDraft(test.studio, { text: 'Second.' });
    await generate(test.studio);
    const second = test.studio.store.getState().jobOrder.at(-1)!;
    togglePlay(test.studio);
    expect(player(test).status).toBe('paused');
    finish(test, first);
    test.host.emit('job.audio', audio(second, 0));
    expect(player(test)).toMatchObject({ jobId: first, status: 'paused' });
    const third = await speakOne(test);
    expect(player(test)).toMatchObject({ jobId: third, status: 'playing' });
  });

  it('does not play what other programs asked for', async () => {
    const test = await testStudio();
    test.host.emit('job.queued', fakeJob({ job_id: 'other' }));
    test.host.emit('job.audio', audio('other', 0));
    expect(player(test).jobId).toBeNull();
  });

  it('reads audio back from the host that the page does not hold', async () => {
    const test = await testStudio();
    const { studio, host } = test;
    host.emit('job.queued', fakeJob({ job_id: 'cli', source: 'cli' }));
    host.emit('job.finished', { job_id: 'cli', result: fakeResult() });
    host.answers['jobs.wav'] = () => ({ wav: wavFile(1) });
    await playJob(studio, 'cli');
    await settle();
    expect(player(test)).toMatchObject({ jobId: 'cli', status: 'playing', fetching: false });
    expect(studio.store.getState().jobAudio.cli).toMatchObject({ frames: rate, complete: true });
  });

  it('fetches the rest when chunks were missed, and keeps what it has when that fails', async () => {
    const test = await testStudio();
    const { studio, host } = test;
    const id = await speakOne(test, 1);
    host.emit('job.audio', audio(id, 2));
    finish(test, id);
    expect(studio.store.getState().jobAudio[id]).toMatchObject({ frames: rate, complete: false });
    await playOut(test, 3);
    expect(player(test).status).toBe('ended');
    host.answers['jobs.wav'] = () => {
      throw new StudioError('invalid_request', 'Too long for one answer.');
    };
    togglePlay(studio);
    await settle();
    expect(studio.store.getState().notices).toHaveLength(1);
    expect(player(test)).toMatchObject({ jobId: id, fetching: false });
    host.answers['jobs.wav'] = () => ({ wav: wavFile(3) });
    await playJob(studio, id, 1);
    expect(studio.store.getState().jobAudio[id]).toMatchObject({ frames: 3 * rate, complete: true });
    expect(studio.transport.position).toBe(rate);
    expect(player(test).status).toBe('playing');
  });

  it('says why audio cannot be read back', async () => {
    const test = await testStudio();
    test.host.emit('job.queued', fakeJob({ job_id: 'gone', source: 'cli' }));
    test.host.emit('job.finished', { job_id: 'gone', result: fakeResult() });
    test.host.answers['jobs.wav'] = () => {
      throw new StudioError('job_not_found', 'There is no such job.');
    };
    await playJob(test.studio, 'gone');
    expect(player(test)).toMatchObject({ jobId: null, fetching: false });
    expect(test.studio.store.getState().notices[0]?.notice).toMatchObject({
      kind: 'failed',
      error: { code: 'job_not_found' },
    });
  });

  it('jumps by seconds and remembers the volume', async () => {
    const test = await testStudio();
    await speakOne(test, 4);
    seekTo(test.studio, 2.5);
    expect(test.studio.transport.position).toBe(2.5 * rate);
    expect(player(test).jumps).toBe(1);
    setVolume(test.studio, 0.8);
    expect(test.outputs[0]!.volume).toBe(0.8);
    setVolume(test.studio, 0.8, true);
    expect(test.outputs[0]!.volume).toBe(0);
    expect(JSON.parse(test.storage.get('mizuoto.volume')!)).toEqual({ volume: 0.8, muted: true });
  });
});

describe('deleting', () => {
  it('can be undone until the notice fades, and then frees the samples', async () => {
    const test = await testStudio();
    const { studio } = test;
    const id = await speakOne(test);
    finish(test, id);
    deleteJob(studio, id);
    expect(studio.store.getState().jobHidden).toEqual({ [id]: true });
    expect(studio.parts.keeper.hidden()).toEqual([id]);
    expect(player(test)).toMatchObject({ jobId: null, status: 'idle' });
    const { notices } = studio.store.getState();
    undoDelete(studio, notices[0]!.id, id);
    expect(studio.store.getState().jobHidden).toEqual({});
    expect(studio.store.getState().notices).toEqual([]);
    expect(studio.parts.keeper.hidden()).toEqual([]);
    // Undone: a notice that closes late must not take the samples along.
    forgetDeleted(studio, id);
    expect(studio.library.peek(id)).toBeDefined();
    deleteJob(studio, id);
    forgetDeleted(studio, id);
    expect(studio.library.peek(id)).toBeUndefined();
  });
});
