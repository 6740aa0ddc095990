import { maxTextLength } from '../../../main/contract/speech.ts';
import { generate, saveJob, showScreen, stopRunning } from '../store/commands.ts';
import { planGenerate } from '../store/estimate.ts';
import { hasAudio, selectRunningJob } from '../store/jobs.ts';
import { seekTo, togglePlay } from '../store/play.ts';
import type { StudioState } from '../store/state.ts';
import type { Studio } from '../store/studio.ts';
import { type Chord, chordText, type KeyPress, matches } from './keys.ts';

export interface Action {
  /** Also the key of its name in the catalogue: `actions.<id>`. */
  id: ActionId;
  chords: Chord[];
  /** Fires while the cursor is in a text field. */
  whileTyping: boolean;
  /** Fires again while the key is held. */
  repeats?: boolean;
  enabled(state: StudioState): boolean;
  run(studio: Studio): void;
}

export type ActionId =
  | 'generate'
  | 'stop'
  | 'play'
  | 'back'
  | 'forward'
  | 'save'
  | 'showGenerate'
  | 'showMemory'
  | 'cheatSheet';

const inPlayer = (state: StudioState): boolean => state.player.jobId !== null;
const jump = (studio: Studio, seconds: number): void => {
  const { player, jobAudio } = studio.store.getState();
  const audio = player.jobId === null ? undefined : jobAudio[player.jobId];
  if (audio !== undefined) seekTo(studio, studio.transport.position / audio.sampleRate + seconds);
};

/** Everything that has a key. Shortcuts, tooltips and the cheat sheet all read this one list. */
export const actions: readonly Action[] = [
  {
    id: 'generate',
    chords: [{ key: 'Enter', mod: true }],
    whileTyping: true,
    enabled: (state) =>
      ['generate', 'load_then_generate', 'queue'].includes(planGenerate(state, maxTextLength).kind),
    run: (studio) => void generate(studio),
  },
  {
    id: 'stop',
    chords: [{ key: 'Escape' }],
    whileTyping: true,
    enabled: (state) => selectRunningJob(state) !== undefined,
    run: stopRunning,
  },
  {
    id: 'play',
    chords: [{ key: ' ' }, { key: 'k' }],
    whileTyping: false,
    enabled: (state) =>
      inPlayer(state) ||
      state.jobOrder.some((id) => !state.jobHidden[id] && hasAudio(state.jobs[id]!, state.jobAudio[id])),
    run: togglePlay,
  },
  {
    id: 'back',
    chords: [{ key: 'j' }],
    whileTyping: false,
    repeats: true,
    enabled: inPlayer,
    run: (studio) => jump(studio, -5),
  },
  {
    id: 'forward',
    chords: [{ key: 'l' }],
    whileTyping: false,
    repeats: true,
    enabled: inPlayer,
    run: (studio) => jump(studio, 5),
  },
  {
    id: 'save',
    chords: [{ key: 's', mod: true }],
    whileTyping: true,
    enabled: (state) => {
      const job = state.player.jobId === null ? undefined : state.jobs[state.player.jobId];
      return job !== undefined && (job.state === 'finished' || job.state === 'cancelled');
    },
    run: (studio) => {
      const { jobId } = studio.store.getState().player;
      if (jobId !== null) void saveJob(studio, jobId);
    },
  },
  {
    id: 'showGenerate',
    chords: [{ key: '1', mod: true }],
    whileTyping: true,
    enabled: () => true,
    run: (studio) => showScreen(studio, 'generate'),
  },
  {
    id: 'showMemory',
    chords: [{ key: 'm', mod: true }],
    whileTyping: true,
    enabled: () => true,
    run: (studio) => showScreen(studio, studio.store.getState().screen === 'memory' ? 'generate' : 'memory'),
  },
  {
    id: 'cheatSheet',
    chords: [{ key: '?' }],
    whileTyping: false,
    enabled: () => true,
    run: (studio) => studio.store.setState((state) => ({ cheatSheetOpen: !state.cheatSheetOpen })),
  },
];

function actionById(id: ActionId): Action {
  return actions.find((action) => action.id === id)!;
}

export function actionKeys(id: ActionId, platform: string): string {
  return chordText(actionById(id).chords[0]!, platform);
}

export interface PressContext {
  typing: boolean;
  /** The focused control has its own use for Space. */
  ownsSpace: boolean;
  repeat: boolean;
  dialogOpen: boolean;
}

/** The action that a key press means here and now, if any. */
export function actionFor(
  press: KeyPress,
  context: PressContext,
  state: StudioState,
  platform: string,
): Action | undefined {
  return actions.find((action) => {
    if (context.dialogOpen && action.id !== 'cheatSheet') return false;
    if (context.typing && !action.whileTyping) return false;
    if (context.repeat && action.repeats !== true) return false;
    const chord = action.chords.find((candidate) => matches(press, candidate, platform));
    if (chord === undefined || (chord.key === ' ' && context.ownsSpace)) return false;
    return action.enabled(state);
  });
}
