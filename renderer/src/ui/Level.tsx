/** A bar of 0..1; null while nobody knows how far. */
export function Level({ value, label, text }: { value: number | null; label: string; text?: string }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(value === null ? {} : { 'aria-valuenow': Math.round(value * 100) })}
      {...(text === undefined ? {} : { 'aria-valuetext': text })}
      className="level"
      data-unknown={value === null ? '' : undefined}
    >
      <span style={value === null ? undefined : { width: `${value * 100}%` }} />
    </div>
  );
}
