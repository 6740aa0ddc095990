import { Slider } from 'radix-ui';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { NumberField } from '../../ui/NumberField.tsx';
import { useFormat } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';
import { type CurvePicture, type LimitRange, placeOf } from './what-if-parts.ts';

/** A place along the track; the thumb is 16 px wide and stays within it. */
const along = (share: number): string => `calc(${share * 100}% + ${8 - share * 16}px)`;

/** A limit in MiB over the picture of what it does; the upper end means none. */
export function LimitSlider({
  name,
  range,
  value,
  picture,
  onChange,
}: {
  name: string;
  range: LimitRange;
  /** MiB; null: no limit. */
  value: number | null;
  picture: CurvePicture;
  onChange: (value: number | null) => void;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const id = useId();
  const { minimum, maximum, step } = range;
  const position = Math.min(maximum, Math.max(minimum, value ?? maximum));
  const total = format.mebibytes(maximum);
  const text =
    value === null || value >= maximum
      ? t('memory.whatIf.noLimitOf', { total })
      : t('memory.whatIf.ofTotal', { limit: format.mebibytes(value), total });
  const choose = (mib: number | null): void =>
    onChange(mib === null || mib >= maximum ? null : Math.max(1, mib));
  return (
    <div>
      <div className="mb-1 flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="text-ink-soft">
          {t('memory.whatIf.limit')}
        </label>
        <span className="flex items-baseline gap-1">
          <span data-testid="what-if-limit" className="mr-2 font-medium">
            {text}
          </span>
          <NumberField
            id={id}
            whole
            value={value === null ? null : position}
            minimum={1}
            maximum={maximum}
            placeholder={t('memory.whatIf.noLimit')}
            className="w-20 text-right"
            onCommit={choose}
          />
          <span className="text-ink-soft text-xs">MB</span>
        </span>
      </div>
      <div className="relative">
        <Curve picture={picture} range={range} position={position} />
        <Slider.Root
          value={[position]}
          min={minimum}
          max={maximum}
          step={step}
          onValueChange={([next]) => next !== undefined && choose(next)}
          onDoubleClick={() => choose(null)}
          className="relative flex h-5 touch-none items-center"
        >
          <Slider.Track className="relative h-1 grow rounded-full bg-line">
            <Slider.Range className="absolute h-full rounded-full bg-accent" />
          </Slider.Track>
          <Slider.Thumb
            data-testid="what-if-slider"
            aria-label={t('memory.whatIf.limitOn', { device: name })}
            aria-valuetext={text}
            className="block size-4 rounded-full border-2 border-accent bg-surface shadow-sm transition-colors hover:bg-accent-wash"
          />
        </Slider.Root>
      </div>
      <div className="mt-0.5 flex flex-wrap gap-x-5 gap-y-1 text-xs">
        <Turn
          testId="what-if-smallest"
          mib={picture.smallest}
          text={(size) => t('memory.whatIf.smallest', { size })}
          hint={t('memory.whatIf.smallestHint')}
          none={t('memory.whatIf.tooSmall')}
          mark="mark-smallest"
          onChoose={choose}
        />
        <Turn
          testId="what-if-whole"
          mib={picture.whole}
          text={(size) => t('memory.whatIf.whole', { size })}
          hint={t('memory.whatIf.wholeHint')}
          none={t('memory.whatIf.neverWhole')}
          mark="mark-whole"
          onChoose={choose}
        />
      </div>
    </div>
  );
}

/** Weights on the device and streamed, and the time that it takes, by limit. The readings beside it say the same. */
function Curve({ picture, range, position }: { picture: CurvePicture; range: LimitRange; position: number }) {
  const { t } = useTranslation();
  const { smallest, whole } = picture;
  return (
    <div aria-hidden className="relative h-16" data-testid="what-if-curve">
      <svg
        viewBox="0 0 1000 100"
        preserveAspectRatio="none"
        className="absolute inset-y-0 right-2 left-2 h-full w-[calc(100%-1rem)]"
      >
        <title>{t('memory.whatIf.curve')}</title>
        <polygon points={picture.streamed} className="curve-streamed" />
        <polygon points={picture.resident} className="curve-resident" />
        <polyline points={picture.time} className="curve-time" />
      </svg>
      {smallest !== undefined && smallest !== null && (
        <span className="curve-mark mark-smallest" style={{ left: along(placeOf(smallest, range)) }} />
      )}
      {whole !== undefined && whole !== null && (
        <span className="curve-mark mark-whole" style={{ left: along(placeOf(whole, range)) }} />
      )}
      <span className="curve-mark mark-now" style={{ left: along(placeOf(position, range)) }} />
    </div>
  );
}

/** A limit at which something changes: named, marked in the picture, and a click away. */
function Turn({
  testId,
  mib,
  text,
  hint,
  none,
  mark,
  onChoose,
}: {
  testId: string;
  mib: number | null | undefined;
  text: (size: string) => string;
  hint: string;
  none: string;
  mark: string;
  onChoose: (mib: number) => void;
}) {
  const format = useFormat();
  if (mib === null || mib === undefined) {
    return <span className="py-0.5 text-ink-soft">{mib === null ? none : text('…')}</span>;
  }
  return (
    <Tip text={hint} side="bottom">
      <button
        type="button"
        data-testid={testId}
        onClick={() => onChoose(mib)}
        className="inline-flex items-center gap-1.5 rounded py-0.5 hover:underline"
      >
        <span aria-hidden className={`curve-key ${mark}`} />
        {text(format.mebibytes(mib))}
      </button>
    </Tip>
  );
}
