import { Tooltip } from 'radix-ui';
import type { ReactElement, ReactNode } from 'react';

/** Says what a control does, and by which key, to pointer and keyboard alike. */
export function Tip({
  text,
  keys,
  side = 'top',
  children,
}: {
  text: ReactNode;
  keys?: string | undefined;
  side?: 'top' | 'right' | 'bottom' | 'left';
  children: ReactElement;
}) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="appear z-50 max-w-72 rounded-md bg-ink px-2.5 py-1.5 text-xs text-background shadow-lg"
        >
          {text}
          {keys !== undefined && <span className="ml-2 opacity-75">{keys}</span>}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
