import { useFormat } from '../../ui/studio-context.ts';
import { Tip } from '../../ui/Tip.tsx';
import type { Part } from './parts.ts';

export interface VesselPart<P extends string> extends Part<P> {
  name: string;
  hint: string;
}

/**
 * One stacked bar and, below it, the same in words and numbers: the list is what a screen reader reads, the bar is a
 * picture of it.
 */
export function Vessel<P extends string>({
  label,
  total,
  parts,
  text,
}: {
  label: string;
  total: number;
  parts: VesselPart<P>[];
  text: (name: string, bytes: string, percent: string) => string;
}) {
  const format = useFormat();
  const described = parts.map((part) => ({
    ...part,
    size: format.bytes(part.bytes),
    whole: text(part.name, format.bytes(part.bytes), format.percent(part.bytes / Math.max(1, total))),
  }));
  return (
    <figure aria-label={label}>
      <div aria-hidden className="vessel">
        {described.map((part) => (
          <Tip key={part.part} text={`${part.whole}. ${part.hint}`}>
            <div
              className={`part-${part.part}`}
              data-part={part.part}
              style={{ flexGrow: part.bytes / Math.max(1, total), flexBasis: 0 }}
            />
          </Tip>
        ))}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-xs">
        {described.map((part) => (
          <li key={part.part} data-part={part.part} className="flex items-center gap-1.5">
            <span aria-hidden className={`swatch part-${part.part}`} />
            <span className="text-ink-soft">{part.name}</span>
            <span className="font-medium">{part.size}</span>
            <span className="sr-only">{part.hint}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
