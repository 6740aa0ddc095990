import type { LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, Ref } from 'react';
import { Tip } from './Tip.tsx';

const kinds = {
  primary:
    'bg-accent text-on-accent hover:bg-accent-strong font-semibold disabled:bg-hover disabled:text-ink-soft',
  plain: 'border border-line-strong bg-surface hover:bg-hover disabled:text-ink-soft disabled:border-line',
  quiet: 'text-accent-ink hover:bg-hover disabled:text-ink-soft',
  danger: 'border border-danger text-danger-ink hover:bg-danger-wash',
} as const;

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: keyof typeof kinds;
  icon?: LucideIcon;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = 'plain', icon: Icon, className = '', children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`inline-flex min-h-9 items-center justify-center gap-2 rounded-lg px-3.5 py-1.5 text-center leading-snug transition-colors ${kinds[kind]} ${className}`}
      {...rest}
    >
      {Icon !== undefined && <Icon aria-hidden size={16} className="flex-none" />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'aria-label'> {
  icon: LucideIcon;
  label: string;
  /** Shown when it says more than the name. */
  hint?: string;
  keys?: string | undefined;
  side?: 'top' | 'right' | 'bottom' | 'left';
  filled?: boolean;
  size?: number;
}

/** An icon never stands alone: it has a name for those who do not see it, and a tip for those who wonder. */
export function IconButton({
  icon: Icon,
  label,
  hint,
  keys,
  side,
  filled = false,
  size = 16,
  className = '',
  ...rest
}: IconButtonProps) {
  return (
    <Tip text={hint ?? label} keys={keys} {...(side === undefined ? {} : { side })}>
      <button
        type="button"
        aria-label={label}
        className={`inline-flex size-8 flex-none items-center justify-center rounded-lg text-ink-soft transition-colors hover:bg-hover hover:text-ink aria-pressed:text-accent-ink disabled:opacity-40 ${className}`}
        {...rest}
      >
        <Icon aria-hidden size={size} {...(filled ? { fill: 'currentColor' } : {})} />
      </button>
    </Tip>
  );
}
