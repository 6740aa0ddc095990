import { describe, expect, it } from 'vitest';
import { fakeJob, fakeResult } from '../bridge/fake-data.ts';
import { editDraft } from '../store/commands.ts';
import { testStudio } from '../testing/studio.ts';
import { chordText, type KeyPress } from './keys.ts';
import { actionFor, actions, type PressContext } from './registry.ts';

const press = (key: string, patch: Partial<KeyPress> = {}): KeyPress => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isComposing: false,
  keyCode: 0,
  ...patch,
});
const elsewhere: PressContext = { typing: false, ownsSpace: false, repeat: false, dialogOpen: false };
const typing: PressContext = { ...elsewhere, typing: true };

async function keyboard() {
  const { studio, host } = await testStudio();
  editDraft(studio, { text: 'Hello.' });
  const means = (key: KeyPress, context = elsewhere, platform = 'linux') =>
    actionFor(key, context, studio.store.getState(), platform)?.id;
  return { studio, host, means };
}

describe('shortcuts', () => {
  it('generate with Ctrl+Enter, on a Mac with Cmd+Enter, while typing too', async () => {
    const { means } = await keyboard();
    expect(means(press('Enter', { ctrlKey: true }), typing)).toBe('generate');
    expect(means(press('Enter', { metaKey: true }), typing, 'darwin')).toBe('generate');
    expect(means(press('Enter', { ctrlKey: true }), typing, 'darwin')).toBeUndefined();
    expect(means(press('Enter'), typing)).toBeUndefined();
    expect(means(press('Enter', { ctrlKey: true }), { ...typing, repeat: true })).toBeUndefined();
  });

  it('never fire while an input method composes', async () => {
    const { means, host } = await keyboard();
    host.emit('job.queued', fakeJob());
    for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
      expect(means(press('Enter', { ctrlKey: true, ...composing }), typing)).toBeUndefined();
      expect(means(press('Escape', composing), typing)).toBeUndefined();
    }
  });

  it('stop with Esc only when something runs', async () => {
    const { means, host } = await keyboard();
    expect(means(press('Escape'), typing)).toBeUndefined();
    host.emit('job.queued', fakeJob());
    expect(means(press('Escape'), typing)).toBe('stop');
  });

  it('leave plain keys to the text, and Space to a focused button', async () => {
    const { means, host } = await keyboard();
    host.emit('job.queued', fakeJob());
    host.emit('job.finished', { job_id: 'job-1', result: fakeResult() });
    expect(means(press(' '))).toBe('play');
    expect(means(press('k'))).toBe('play');
    expect(means(press(' '), typing)).toBeUndefined();
    expect(means(press('?'), typing)).toBeUndefined();
    expect(means(press(' '), { ...elsewhere, ownsSpace: true })).toBeUndefined();
    expect(means(press('?'))).toBe('cheatSheet');
    expect(means(press('k', { altKey: true }))).toBeUndefined();
  });

  it('wait while a dialog is open, but its own key closes it', async () => {
    const { means, host } = await keyboard();
    host.emit('job.queued', fakeJob());
    expect(means(press('Escape'), { ...elsewhere, dialogOpen: true })).toBeUndefined();
    expect(means(press('?'), { ...elsewhere, dialogOpen: true })).toBe('cheatSheet');
  });

  it('go to Memory and back', async () => {
    const { studio, means } = await keyboard();
    expect(means(press('m', { ctrlKey: true }), typing)).toBe('showMemory');
    const action = actions.find((one) => one.id === 'showMemory')!;
    action.run(studio);
    expect(studio.store.getState().screen).toBe('memory');
    action.run(studio);
    expect(studio.store.getState().screen).toBe('generate');
  });

  it('are each bound once', () => {
    const chords = actions.flatMap((action) => action.chords.map((chord) => chordText(chord, 'linux')));
    expect(new Set(chords).size).toBe(chords.length);
  });

  it('are written as the keyboard of the platform is', () => {
    expect(chordText({ key: 'Enter', mod: true }, 'win32')).toBe('Ctrl+Enter');
    expect(chordText({ key: 'Enter', mod: true }, 'darwin')).toBe('⌘↩');
    expect(chordText({ key: ' ' }, 'linux')).toBe('Space');
    expect(chordText({ key: 'm', mod: true }, 'darwin')).toBe('⌘M');
  });
});
