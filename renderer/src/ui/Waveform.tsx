import { useEffect, useRef } from 'react';
import type { Recording } from '../audio/recording.ts';
import { drawWaveform, type WaveformColours, waveformColours } from './draw-waveform.ts';
import { useThemeKey } from './theme-key.ts';

/**
 * The picture of a recording, drawn from its peaks alone. `frames` only says that it has grown; `position` is asked at
 * each frame of the screen while `moving`.
 */
export function Waveform({
  recording,
  frames,
  totalFrames,
  position,
  moving,
  jumps = 0,
  columnWidth = 3,
  showMarks = false,
  growing,
  className = '',
}: {
  recording: Recording | undefined;
  frames: number;
  totalFrames: number;
  /** Frame that sounds; absent: no playhead. */
  position?: () => number;
  moving: boolean;
  /** Grows with each jump while nothing moves. */
  jumps?: number;
  columnWidth?: number;
  showMarks?: boolean;
  /** Audio will follow; by default what the recording says. */
  growing?: boolean;
  className?: string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const themeKey = useThemeKey();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `frames`, `jumps` and `themeKey` say that the picture changed; what they stand for is read from the recording and the document.
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d') ?? null;
    if (element === null || context === null) return;
    let colours: WaveformColours | null = null;
    let request = 0;

    const draw = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      const ratio = window.devicePixelRatio;
      if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
        element.width = Math.round(width * ratio);
        element.height = Math.round(height * ratio);
      }
      colours ??= waveformColours(element);
      const total = Math.max(1, totalFrames, recording?.frames ?? 0);
      drawWaveform(
        context,
        {
          width,
          height,
          ratio,
          columns: recording?.peaks.columns(Math.floor(width / columnWidth), total) ?? [],
          columnWidth,
          played: position === undefined ? null : position() / total,
          marks: showMarks ? (recording?.marks.slice(1).map((mark) => mark.start / total) ?? []) : [],
          growing: growing ?? !(recording?.isComplete ?? true),
        },
        colours,
      );
    };
    const loop = (): void => {
      draw();
      request = requestAnimationFrame(loop);
    };
    if (moving) loop();
    else draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => {
      cancelAnimationFrame(request);
      observer.disconnect();
    };
  }, [recording, frames, totalFrames, position, moving, jumps, columnWidth, showMarks, growing, themeKey]);

  return <canvas ref={canvas} aria-hidden className={`block h-full w-full ${className}`} />;
}
