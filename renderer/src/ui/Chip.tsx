import type { ReactNode } from 'react';
import { useFormat } from './studio-context.ts';
import { Tip } from './Tip.tsx';

const tones = {
  quiet: 'bg-sunken text-ink-soft',
  accent: 'bg-accent-wash text-accent-ink',
  warning: 'bg-warning-wash text-warning-ink',
  danger: 'bg-danger-wash text-danger-ink',
} as const;

/** A small fact with a longer explanation behind it. */
export function Chip({
  tone = 'quiet',
  hint,
  children,
}: {
  tone?: keyof typeof tones;
  hint?: string | undefined;
  children: ReactNode;
}) {
  const format = useFormat();
  const shape = `inline-flex items-center gap-1 whitespace-nowrap rounded-full px-2 py-0.5 text-2xs ${tones[tone]}`;
  if (hint === undefined) return <span className={shape}>{children}</span>;
  return (
    <Tip text={hint}>
      {/* A tip must be reachable by keyboard too. */}
      <button type="button" className={shape}>
        {children}
        <span className="sr-only">
          {format.colon}
          {hint}
        </span>
      </button>
    </Tip>
  );
}
