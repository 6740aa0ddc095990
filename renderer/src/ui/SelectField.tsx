import { type ReactNode, useId } from 'react';

interface SelectFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  testId: string;
  disabled?: boolean;
  /** Id of what explains it. */
  describedBy?: string | undefined;
  /** Its options. */
  children: ReactNode;
}

/** A choice of one, under its name. */
export function SelectField(props: SelectFieldProps) {
  const { label, value, onChange, testId, disabled = false, describedBy, children } = props;
  const id = useId();
  return (
    <>
      <label htmlFor={id} className="mb-1.5 block text-ink-soft">
        {label}
      </label>
      <select
        id={id}
        data-testid={testId}
        className="select"
        disabled={disabled}
        aria-describedby={describedBy}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {children}
      </select>
    </>
  );
}
