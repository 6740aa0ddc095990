import { RadioGroup } from 'radix-ui';

/** One of a few, all of them in sight. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly { value: T; text: string; lang?: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <RadioGroup.Root
      aria-label={label}
      value={value}
      onValueChange={(next) => onChange(next as T)}
      className="flex rounded-lg bg-sunken p-0.5"
    >
      {options.map((option) => (
        <RadioGroup.Item
          key={option.value}
          value={option.value}
          lang={option.lang}
          className="grow whitespace-nowrap rounded-md px-2.5 py-1 text-ink-soft transition-colors hover:text-ink data-[state=checked]:bg-raised data-[state=checked]:text-ink data-[state=checked]:shadow-sm"
        >
          {option.text}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  );
}
