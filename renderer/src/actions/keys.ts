/** A key with its modifiers; `mod` is Ctrl, on a Mac Cmd. */
export interface Chord {
  key: string;
  mod?: boolean;
}

/** What a key press looks like; the DOM's KeyboardEvent is one. */
export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  isComposing: boolean;
  keyCode: number;
}

function isMac(platform: string): boolean {
  return platform === 'darwin';
}

/** While an input method composes, its keys are its own: Enter there picks a word. 229 is the same on old engines. */
function isComposing(press: KeyPress): boolean {
  return press.isComposing || press.keyCode === 229;
}

export function matches(press: KeyPress, chord: Chord, platform: string): boolean {
  if (isComposing(press) || press.altKey) return false;
  const mod = isMac(platform) ? press.metaKey : press.ctrlKey;
  const otherMod = isMac(platform) ? press.ctrlKey : press.metaKey;
  if (otherMod || mod !== (chord.mod ?? false)) return false;
  return press.key.toLowerCase() === chord.key.toLowerCase();
}

const macNames: Record<string, string> = { Enter: '↩', Escape: 'Esc', ' ': 'Space' };
const names: Record<string, string> = { Escape: 'Esc', ' ': 'Space' };

/** As keyboards of the platform write it. */
export function chordText(chord: Chord, platform: string): string {
  const mac = isMac(platform);
  const key =
    (mac ? macNames : names)[chord.key] ?? (chord.key.length === 1 ? chord.key.toUpperCase() : chord.key);
  return chord.mod ? (mac ? `⌘${key}` : `Ctrl+${key}`) : key;
}
