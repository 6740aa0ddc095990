import { Slider } from 'radix-ui';
import { useId } from 'react';
import { NumberField } from './NumberField.tsx';
import { Tip } from './Tip.tsx';

export interface ParameterRange {
  minimum: number;
  maximum: number;
  step: number;
  default: number;
  /** Whole numbers only. */
  whole?: boolean;
}

/** A slider with its number beside it: drag, type, or double-click for the default, which has a mark. */
export function ParameterSlider({
  label,
  range,
  value,
  resetHint,
  onChange,
}: {
  label: string;
  range: ParameterRange;
  value: number;
  resetHint: string;
  onChange: (value: number) => void;
}) {
  const id = useId();
  const { minimum, maximum, step, whole = false } = range;
  const markAt = (range.default - minimum) / (maximum - minimum);
  return (
    <div>
      <div className="mb-1.5 flex items-baseline justify-between gap-2">
        <label htmlFor={id} className="text-ink-soft">
          {label}
        </label>
        <NumberField
          id={id}
          value={value}
          minimum={minimum}
          maximum={maximum}
          digits={2}
          whole={whole}
          className="w-16 text-right"
          onCommit={(typed) => onChange(typed ?? range.default)}
        />
      </div>
      <Tip text={resetHint} side="bottom">
        <Slider.Root
          value={[Math.min(maximum, Math.max(minimum, value))]}
          min={minimum}
          max={maximum}
          step={step}
          onValueChange={([next]) => next !== undefined && onChange(Math.round(next * 1000) / 1000)}
          onDoubleClick={() => onChange(range.default)}
          className="relative flex h-5 touch-none items-center"
        >
          <Slider.Track className="relative h-1 grow rounded-full bg-line">
            <Slider.Range className="absolute h-full rounded-full bg-accent" />
            <span
              aria-hidden
              className="-translate-x-1/2 -translate-y-1/2 absolute top-1/2 h-2.5 w-0.5 rounded-full bg-line-strong"
              style={{ left: `calc(${markAt * 100}% + ${8 - markAt * 16}px)` }}
            />
          </Slider.Track>
          <Slider.Thumb
            aria-label={label}
            className="block size-4 rounded-full border-2 border-accent bg-surface shadow-sm transition-colors hover:bg-accent-wash"
          />
        </Slider.Root>
      </Tip>
    </div>
  );
}
