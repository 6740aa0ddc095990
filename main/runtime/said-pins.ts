import type { Settings } from '../contract/settings.ts';

/** Pins said in the window; they hold until the settings say something new about pins. */
export class SaidPins {
  readonly #said = new Map<string, boolean>();

  set(model: string, pinned: boolean): void {
    this.#said.set(model, pinned);
  }

  /** Undefined where the settings decide. */
  get(model: string): boolean | undefined {
    return this.#said.get(model);
  }

  get all(): [model: string, pinned: boolean][] {
    return [...this.#said];
  }

  settingsChanged(before: Settings, after: Settings): void {
    if (pinsIn(before) !== pinsIn(after)) this.#said.clear();
  }
}

function pinsIn(settings: Settings): string {
  return JSON.stringify(Object.entries(settings).filter(([key]) => key.endsWith('.pinned_models')));
}
