import { StudioError } from '../contract/errors.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelHandle } from '../memory/model-handle.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { mib } from '../memory/planner/reasons.ts';
import { smallestTogether } from '../memory/planner/smallest.ts';
import { keepsWhole, resolveMode, type VramPolicy } from '../memory/policy.ts';

export interface ExhaustedStage {
  manager: ModelManager;
  book: DeviceBook;
  policy: VramPolicy;
  name: string;
  handles: readonly ModelHandle[];
  /** Its working memory as estimated, bytes. */
  memory: number;
  attempts: number;
  cause: unknown;
  /** The engine's cheaper way, which the settings do not allow. */
  fallback?: string;
}

/** A stage whose device had too little memory: what it wanted, what there is, and what to do. */
export function outOfMemoryError(stage: ExhaustedStage): StudioError {
  const { book, name, attempts, memory, cause } = stage;
  const { totalBytes, freeBytes, held } = book.device.memory();
  const own = Object.values(held).reduce((sum, bytes) => sum + bytes, 0);
  const others = mib(Math.max(0, totalBytes - freeBytes - own));
  const mode = wholeOnly(stage);
  const weights = mib(stage.handles.reduce((bytes, handle) => bytes + handle.sizeBytes, 0));
  const [total, working, least] = [mib(totalBytes), mib(memory), mib(leastBytes(stage))];
  const simulated = book.device.simulated && others === 0;
  const has = simulated
    ? `compute.simulate_vram_mb gives it ${total} MiB`
    : `of ${total} MiB, other programs hold ${others}`;
  const wants =
    mode === null
      ? `at least ${least} of the ${weights} MiB of weights`
      : `all ${weights} MiB of weights at once, because the mode ${mode} is in force,`;
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  return new StudioError(
    'out_of_device_memory',
    `${book.id} ran out of memory in "${name}" ${times}: ${has}; the stage wants ${wants} and ${working} MiB of working memory. ${adviceFor(stage, mode)}`,
    {
      params: {
        device: book.id,
        stage: name,
        attempts,
        total_mb: total,
        weights_mb: weights,
        least_mb: least,
        working_mb: working,
        ...(mode === null ? {} : { mode, instead: streamingMode(book) }),
        ...(simulated ? { simulated_mb: total } : { others_mb: others }),
      },
      retryable: true,
      detail: cause instanceof Error ? cause.message : String(cause),
      cause,
    },
  );
}

/** The mode that keeps components whole; null where it was tried with a part of them, now or before. */
function wholeOnly({ policy, book, handles }: ExhaustedStage): string | null {
  const mode = resolveMode(policy.mode, book.unified);
  return keepsWhole(mode) && handles.every(({ capBytes }) => capBytes === null) ? mode : null;
}

/** Weights and slots of its smallest working set. */
function leastBytes({ manager, book, policy, handles }: ExhaustedStage): number {
  const ids = new Set(handles.map(({ id }) => id));
  const components = manager.state(book, policy).components.filter(({ id }) => ids.has(id));
  return smallestTogether(components, policy.asyncOffload, { planned: null, inUse: null }).bytes;
}

/** Where memory is unified, `auto` keeps components whole too. */
function streamingMode({ unified }: DeviceBook): string {
  return unified ? 'normal' : 'auto';
}

function adviceFor({ book, fallback }: ExhaustedStage, mode: string | null): string {
  if (mode !== null)
    return `Set compute.vram_mode to ${streamingMode(book)}: then what does not fit streams, with the same result.`;
  const ways = [
    ...(fallback === undefined ? [] : [`allow the cheaper way (${fallback}) with compute.oom_fallback=true`]),
    ...(book.device.simulated
      ? ['raise compute.simulate_vram_mb or clear it', 'or shorten the text']
      : [
          'shorten the text',
          'close other programs that use the device',
          'or compute on the processor (compute.device=CPU)',
        ]),
  ].join(', ');
  return `${ways.charAt(0).toUpperCase()}${ways.slice(1)}.`;
}
