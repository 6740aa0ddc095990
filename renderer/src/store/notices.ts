import type { Studio } from './studio.ts';
import type { Notice } from './ui.ts';

let lastId = 0;

export function notify(studio: Studio, notice: Notice): void {
  const id = ++lastId;
  // More than a few at once would cover what they speak of.
  studio.store.setState((state) => ({ notices: [...state.notices.slice(-2), { id, notice }] }));
}

export function dismissNotice(studio: Studio, id: number): void {
  studio.store.setState((state) => ({ notices: state.notices.filter((entry) => entry.id !== id) }));
}
