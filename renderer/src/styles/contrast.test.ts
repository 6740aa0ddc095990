import { describe, expect, it } from 'vitest';
import tokens from './tokens.css?raw';

type Theme = 'light' | 'dark';

/** `--name: light-dark(#light, #dark)` of the style sheet. */
const pairs = new Map(
  [...tokens.matchAll(/--([\w-]+):\s*light-dark\(\s*(#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\s*\)/gi)].map(
    (match) => [match[1]!, { light: match[2]!, dark: match[3]! }],
  ),
);

/** Relative luminance, WCAG 2.2. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(front: string, back: string, theme: Theme): number {
  const [a, b] = [front, back].map((name) => {
    const pair = pairs.get(name);
    if (pair === undefined) throw new Error(`No colour --${name}.`);
    return luminance(pair[theme]);
  });
  return (Math.max(a!, b!) + 0.05) / (Math.min(a!, b!) + 0.05);
}

const grounds = ['background', 'surface', 'raised', 'sunken', 'hover'];
const text: [front: string, backs: string[]][] = [
  ['ink', [...grounds, 'accent-wash', 'warning-wash', 'danger-wash']],
  ['ink-soft', [...grounds, 'accent-wash', 'danger-wash']],
  ['accent-ink', [...grounds, 'accent-wash']],
  ['warning-ink', [...grounds, 'warning-wash']],
  ['danger-ink', [...grounds, 'danger-wash']],
  ['on-accent', ['accent', 'accent-strong']],
  // Tooltips and notices are inverted.
  ['background', ['ink']],
];
/** Borders of controls, marks and bars: what must be seen, not read. */
const shapes: [front: string, backs: string[]][] = [
  ['line-strong', grounds],
  ['accent', [...grounds, 'line']],
  ['danger', ['surface', 'background', 'danger-wash']],
  ['memory-weights', ['sunken']],
  ['memory-slots', ['sunken']],
  ['memory-compute', ['sunken']],
  ['memory-state', ['sunken']],
  ['memory-io', ['sunken']],
];

describe.each(['light', 'dark'] as const)('contrast in the %s theme', (theme) => {
  it.each(text.flatMap(([front, backs]) => backs.map((back) => [front, back])))(
    'text: %s on %s is at least 4.5',
    (front, back) => {
      expect(contrast(front!, back!, theme)).toBeGreaterThanOrEqual(4.5);
    },
  );
  it.each(shapes.flatMap(([front, backs]) => backs.map((back) => [front, back])))(
    'shape: %s on %s is at least 3',
    (front, back) => {
      expect(contrast(front!, back!, theme)).toBeGreaterThanOrEqual(3);
    },
  );
});

describe('colours', () => {
  it('are all defined for both themes, and nowhere else', () => {
    expect(pairs.size).toBeGreaterThan(25);
    const sheets = import.meta.glob('./*.css', { query: '?raw', import: 'default', eager: true }) as Record<
      string,
      string
    >;
    for (const [path, sheet] of Object.entries(sheets)) {
      if (path !== './tokens.css') expect(sheet, path).not.toMatch(/#[0-9a-f]{3,8}\b|\brgb\(/i);
    }
    const code = import.meta.glob('../**/*.tsx', { query: '?raw', import: 'default', eager: true }) as Record<
      string,
      string
    >;
    for (const [path, source] of Object.entries(code)) {
      expect(source, path).not.toMatch(/#[0-9a-f]{6}\b|\brgb\(|\bdark:/i);
    }
  });
});
