import { type JobProgress, stageWords } from '../contract/index.ts';
import { clock, displayWidth, type Surroundings } from './terminal.ts';

const barCells = 24;
const stateKeys = {
  waiting: 'stateWaiting',
  loading: 'stateLoading',
  running: 'stateRunning',
  stopping: 'stateStopping',
} as const;

/** One line of progress, cut to the columns of the terminal. */
export function progressLine(
  progress: JobProgress,
  around: Pick<Surroundings, 'messages'>,
  columns: number,
): string {
  const { messages } = around;
  const filled = Math.round(progress.fraction * barCells);
  const parts = [
    `[${'#'.repeat(filled)}${'-'.repeat(barCells - filled)}] ${String(Math.floor(progress.fraction * 100)).padStart(3)}%`,
    messages.get(stateKeys[progress.state]),
  ];
  if (progress.stage) parts.push(stageWords[progress.stage]?.[messages.language] ?? progress.stage);
  if (progress.chunks_total > 1) {
    parts.push(messages.get('progressParts', { done: progress.chunks_done, total: progress.chunks_total }));
  }
  if (progress.remaining_seconds !== null) {
    parts.push(messages.get('progressLeft', { time: clock(progress.remaining_seconds) }));
  }
  while (parts.length > 1 && displayWidth(parts.join('  ')) >= columns) parts.pop();
  return parts.join('  ');
}

/** A bar on the standard error stream while it is a terminal; silent otherwise. */
export class ProgressBar {
  #shown = false;
  readonly #active: boolean;

  constructor(private readonly around: Surroundings) {
    this.#active = Boolean(around.stderr.isTTY) && !around.quiet;
  }

  update(progress: JobProgress): void {
    if (!this.#active) return;
    const columns = this.around.stderr.columns || 80;
    this.around.stderr.write(`\r${progressLine(progress, this.around, columns)}\x1b[K`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.around.stderr.write('\r\x1b[K');
    this.#shown = false;
  }
}
