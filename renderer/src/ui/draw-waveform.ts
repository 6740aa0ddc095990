import type { PeakColumn } from '../audio/peaks.ts';

export interface WaveformColours {
  played: string;
  rest: string;
  line: string;
  head: string;
}

/** The registered colour properties, resolved for the theme in force. */
export function waveformColours(element: Element): WaveformColours {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    played: read('--wave-played'),
    rest: read('--wave-rest'),
    line: read('--wave-line'),
    head: read('--wave-head'),
  };
}

export interface WaveformPicture {
  width: number;
  height: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
  columns: PeakColumn[];
  columnWidth: number;
  /** 0..1 of the whole width; null: no playhead. */
  played: number | null;
  /** 0..1 where the chunks begin. */
  marks: number[];
  /** Audio may follow: the waterline runs on, dotted. */
  growing: boolean;
}

/** Speech is quiet most of the time: a root lifts it off the line. */
const lift = (value: number): number => Math.min(1, value) ** 0.8;
/** Quieter recordings than this are drawn as quiet; louder ones fill the height. */
const quietest = 0.25;

/**
 * Sound over water: above the waterline stand the peaks, below it lies their reflection, which is the loudness (root
 * mean square) and fainter.
 */
export function drawWaveform(
  canvas: CanvasRenderingContext2D,
  picture: WaveformPicture,
  colours: WaveformColours,
): void {
  const { width, height, ratio, columns, columnWidth } = picture;
  canvas.setTransform(ratio, 0, 0, ratio, 0, 0);
  canvas.clearRect(0, 0, width, height);
  // A narrow window hides some pictures: there is no room to draw in.
  if (width < 8 || height < 12) return;
  const water = Math.round(height * 0.64) + 0.5;
  const up = water - 3;
  const down = height - water - 4;
  const bar = Math.max(1, columnWidth - 1);
  const playedTo = picture.played === null ? 0 : picture.played * width;

  if (columns.length === 0 && !picture.growing) {
    stillWater(canvas, width, height, water, colours.line);
    return;
  }
  const loudest = columns.reduce((max, column) => Math.max(max, column.peak), quietest);

  for (const [index, column] of columns.entries()) {
    const x = index * columnWidth;
    canvas.fillStyle = x + bar / 2 <= playedTo ? colours.played : colours.rest;
    const above = Math.max(1, lift(column.peak / loudest) * up);
    canvas.globalAlpha = 1;
    canvas.fillRect(x, water - 1 - above, bar, above);
    canvas.globalAlpha = 0.38;
    canvas.fillRect(x, water + 2, bar, Math.max(0.75, lift((column.rms * 1.6) / loudest) * down));
  }
  canvas.globalAlpha = 1;

  const end = columns.length * columnWidth;
  canvas.strokeStyle = colours.line;
  canvas.lineWidth = 1;
  if (end < width && picture.growing) {
    canvas.setLineDash([1, 4]);
    line(canvas, end + 3, water, width, water);
    canvas.setLineDash([]);
  }
  canvas.globalAlpha = 0.5;
  line(canvas, 0, water, Math.min(width, end), water);
  canvas.globalAlpha = 0.8;
  // Closer together they would only blacken the water.
  const marks = picture.marks.length * 10 < end ? picture.marks : [];
  for (const mark of marks) {
    const x = Math.round(mark * width) + 0.5;
    if (x > 1 && x < width - 1) line(canvas, x, water, x, height - 1);
  }
  canvas.globalAlpha = 1;

  if (picture.played !== null) {
    const x = Math.min(width - 1, Math.max(0.5, playedTo));
    canvas.strokeStyle = colours.head;
    canvas.lineWidth = 1.25;
    line(canvas, x, 1, x, height - 1);
    canvas.fillStyle = colours.head;
    canvas.beginPath();
    canvas.arc(x, water, 3, 0, Math.PI * 2);
    canvas.fill();
  }
}

/** Nothing to hear: rings that fade out on a still surface. */
function stillWater(
  canvas: CanvasRenderingContext2D,
  width: number,
  height: number,
  water: number,
  colour: string,
): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1;
  const rings = 7;
  const reach = Math.min(width * 0.46, 420);
  for (let ring = 1; ring <= rings; ring++) {
    const radius = (reach * ring ** 1.35) / rings ** 1.35;
    canvas.globalAlpha = 0.75 * (1 - (ring - 1) / rings);
    canvas.beginPath();
    canvas.ellipse(width / 2, water, radius, Math.min(height - water - 2, radius * 0.16), 0, 0, Math.PI * 2);
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

function line(canvas: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  canvas.beginPath();
  canvas.moveTo(x1, y1);
  canvas.lineTo(x2, y2);
  canvas.stroke();
}
