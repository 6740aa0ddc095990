import { useState } from 'react';

/** What was typed as a number within bounds; null for nothing; undefined for what is no number. */
export function parseNumber(
  text: string,
  bounds: { minimum: number; maximum: number; whole?: boolean },
): number | null | undefined {
  const clean = text.normalize('NFKC').trim().replace(',', '.');
  if (clean === '') return null;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(clean)) return undefined;
  const value = bounds.whole ? Math.round(Number(clean)) : Number(clean);
  return Math.min(bounds.maximum, Math.max(bounds.minimum, value));
}

/** A number that is typed: taken on Enter or when leaving, out-of-range values move to the nearest allowed. */
export function NumberField({
  id,
  value,
  minimum,
  maximum,
  digits = 0,
  whole = false,
  label,
  describedBy,
  placeholder,
  className = '',
  onCommit,
}: {
  id?: string;
  value: number | null;
  minimum: number;
  maximum: number;
  digits?: number;
  whole?: boolean;
  label?: string;
  describedBy?: string;
  placeholder?: string;
  className?: string;
  onCommit: (value: number | null) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = value === null ? '' : whole ? String(value) : value.toFixed(digits);
  const commit = () => {
    if (typed === null) return;
    const parsed = parseNumber(typed, { minimum, maximum, whole });
    if (parsed !== undefined) onCommit(parsed);
    setTyped(null);
  };
  return (
    <input
      id={id}
      type="text"
      inputMode={whole ? 'numeric' : 'decimal'}
      autoComplete="off"
      aria-label={label}
      aria-describedby={describedBy}
      placeholder={placeholder}
      value={typed ?? shown}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={commit}
      onFocus={(event) => event.target.select()}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) commit();
        if (event.key === 'Escape' && typed !== null) {
          // Esc takes back what was typed; it must not stop a job as well.
          event.preventDefault();
          setTyped(null);
        }
      }}
      className={`selectable rounded-md border border-transparent bg-transparent px-1.5 py-0.5 hover:border-line-strong focus:border-line-strong focus:bg-surface ${className}`}
    />
  );
}
