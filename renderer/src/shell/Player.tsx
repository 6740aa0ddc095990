import { Download, LoaderCircle, Pause, Play, Volume1, Volume2, VolumeX } from 'lucide-react';
import { Slider } from 'radix-ui';
import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { actionKeys } from '../actions/registry.ts';
import { saveJob } from '../store/commands.ts';
import { seekTo, setVolume, togglePlay } from '../store/play.ts';
import { Button, IconButton } from '../ui/Button.tsx';
import { useFormat, useStudio, useStudioState } from '../ui/studio-context.ts';
import { Tip } from '../ui/Tip.tsx';
import { Waveform } from '../ui/Waveform.tsx';

const sounding = new Set(['playing', 'waiting', 'blocked']);

/** The foot of the window: what plays, where it is, how loud. */
export function Player() {
  const { t } = useTranslation();
  const studio = useStudio();
  const player = useStudioState((state) => state.player);
  const job = useStudioState((state) => (player.jobId === null ? undefined : state.jobs[player.jobId]));
  const playable = useStudioState((state) =>
    state.jobOrder.some((id) => !state.jobHidden[id] && (state.jobAudio[id]?.frames ?? 0) > 0),
  );
  const platform = useStudioState((state) => state.shell.platform);
  const on = sounding.has(player.status);
  const canSave = job?.state === 'finished' || job?.state === 'cancelled';
  return (
    <section
      aria-label={t('player.label')}
      data-testid="player"
      data-status={player.status}
      className="flex h-22 flex-none items-center gap-4 border-line border-t bg-surface px-4"
    >
      <Tip text={t('actions.play')} keys={actionKeys('play', platform)}>
        <button
          type="button"
          data-testid="player-toggle"
          aria-label={on ? t('player.pause') : t('player.play')}
          disabled={player.jobId === null && !playable}
          onClick={() => togglePlay(studio)}
          className="inline-flex size-12 flex-none items-center justify-center rounded-full bg-accent text-on-accent transition-colors hover:bg-accent-strong disabled:bg-hover disabled:text-ink-soft"
        >
          {player.fetching ? (
            <LoaderCircle aria-hidden size={20} className="animate-spin" />
          ) : on ? (
            <Pause aria-hidden size={20} fill="currentColor" />
          ) : (
            <Play aria-hidden size={20} fill="currentColor" className="ml-0.5" />
          )}
        </button>
      </Tip>
      <div className="w-44 flex-none max-md:hidden">
        {job === undefined ? (
          <p className="text-ink-soft">{t('player.empty')}</p>
        ) : (
          <>
            <p className="truncate font-medium" title={job.text_preview}>
              {job.text_preview || t('results.untitled')}
            </p>
            <PlayerStatus />
          </>
        )}
      </div>
      <PlayerWave />
      <Volume />
      <Button
        icon={Download}
        data-testid="player-save"
        disabled={!canSave}
        title={t('player.saveHint')}
        onClick={() => player.jobId !== null && void saveJob(studio, player.jobId)}
        className="flex-none"
      >
        <span className="max-lg:sr-only">{t('player.save')}</span>
      </Button>
    </section>
  );
}

/** Seconds that sound now; told while it moves and after each jump. */
function usePosition(interval: number): number {
  const studio = useStudio();
  const { jobId, status, jumps } = useStudioState((state) => state.player);
  const rate =
    useStudioState((state) => (jobId === null ? undefined : state.jobAudio[jobId]?.sampleRate)) ?? 1;
  const [seconds, setSeconds] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a jump or another job moves the position without any other change.
  useEffect(() => {
    const read = () => setSeconds(studio.transport.position / rate);
    read();
    if (status !== 'playing') return;
    const timer = setInterval(read, interval);
    return () => clearInterval(timer);
  }, [studio, status, jumps, jobId, rate, interval]);
  return seconds;
}

function PlayerStatus() {
  const { t } = useTranslation();
  const format = useFormat();
  const { status, jobId, fetching } = useStudioState((state) => state.player);
  const audio = useStudioState((state) => (jobId === null ? undefined : state.jobAudio[jobId]));
  const seconds = usePosition(250);
  if (fetching) return <p className="text-ink-soft text-xs">{t('player.fetching')}</p>;
  if (status === 'waiting') return <p className="text-accent-ink text-xs">{t('player.waiting')}</p>;
  if (status === 'blocked') return <p className="text-warning-ink text-xs">{t('player.blocked')}</p>;
  if (status === 'lost') return <p className="text-warning-ink text-xs">{t('player.lost')}</p>;
  const total = audio === undefined ? 0 : audio.frames / audio.sampleRate;
  return (
    <p data-testid="player-time" className="text-ink-soft text-xs">
      {format.clock(seconds)} / {format.clock(total)}
    </p>
  );
}

function PlayerWave() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const { jobId, status, jumps } = useStudioState((state) => state.player);
  const audio = useStudioState((state) => (jobId === null ? undefined : state.jobAudio[jobId]));
  const progress = useStudioState((state) => (jobId === null ? null : (state.jobs[jobId]?.progress ?? null)));
  const seconds = usePosition(1000);
  const position = useCallback(() => studio.transport.position, [studio]);
  const recording = jobId === null ? undefined : studio.library.peek(jobId);

  if (audio === undefined) {
    return (
      <div className="h-16 min-w-0 grow">
        <Waveform recording={undefined} frames={0} totalFrames={0} moving={false} />
      </div>
    );
  }
  // While it grows, the picture leaves room for what the finished chunks promise of the rest.
  const expected =
    audio.complete || progress === null || audio.chunks === 0
      ? audio.frames
      : audio.frames * Math.max(1, progress.chunks_total / audio.chunks);
  const total = audio.frames / audio.sampleRate;
  const shown = expected / audio.sampleRate;
  const chunks = t('player.waveformChunks', { count: audio.chunks });
  return (
    <div className="relative h-16 min-w-0 grow">
      <div
        role="slider"
        tabIndex={0}
        data-testid="waveform"
        aria-label={t('player.position')}
        aria-description={t('player.waveform', { total: format.span(total), chunks })}
        aria-valuemin={0}
        aria-valuemax={Math.round(total)}
        aria-valuenow={Math.round(seconds)}
        aria-valuetext={t('player.positionText', {
          position: format.clock(seconds),
          total: format.clock(total),
        })}
        className="h-full rounded-md"
        onPointerDown={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const seek = (x: number) => seekTo(studio, ((x - box.left) / box.width) * shown);
          event.currentTarget.setPointerCapture(event.pointerId);
          seek(event.clientX);
        }}
        onPointerMove={(event) => {
          if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
          const box = event.currentTarget.getBoundingClientRect();
          seekTo(studio, ((event.clientX - box.left) / box.width) * shown);
        }}
        onKeyDown={(event) => {
          const now = studio.transport.position / audio.sampleRate;
          const target = seekTarget(event.key, now, total);
          if (target === null) return;
          event.preventDefault();
          seekTo(studio, target);
        }}
      >
        <Waveform
          recording={recording}
          frames={audio.frames}
          totalFrames={expected}
          position={position}
          moving={status === 'playing'}
          jumps={jumps}
          showMarks
        />
      </div>
      {!audio.complete && audio.frames < expected && (
        <span
          key={audio.chunks}
          aria-hidden
          className="ripple -translate-x-1/2 -translate-y-1/2 pointer-events-none absolute top-[64%] size-8 rounded-full border-2 border-accent"
          style={{ left: `${(audio.frames / expected) * 100}%` }}
        />
      )}
    </div>
  );
}

function seekTarget(key: string, now: number, total: number): number | null {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return now - 5;
    case 'ArrowRight':
    case 'ArrowUp':
      return now + 5;
    case 'PageUp':
      return now + 30;
    case 'PageDown':
      return now - 30;
    case 'Home':
      return 0;
    case 'End':
      return total;
    default:
      return null;
  }
}

function Volume() {
  const { t } = useTranslation();
  const format = useFormat();
  const studio = useStudio();
  const { volume, muted } = useStudioState((state) => state.player);
  const silent = muted || volume === 0;
  return (
    <div className="flex flex-none items-center gap-1">
      <IconButton
        icon={silent ? VolumeX : volume < 0.5 ? Volume1 : Volume2}
        label={muted ? t('player.unmute') : t('player.mute')}
        hint={silent ? t('player.muted') : format.percent(volume)}
        onClick={() => setVolume(studio, volume === 0 ? 0.3 : volume, !silent)}
        className={silent ? 'text-warning-ink' : ''}
      />
      <Slider.Root
        value={[muted ? 0 : volume]}
        min={0}
        max={1}
        step={0.01}
        onValueChange={([next]) => next !== undefined && setVolume(studio, next)}
        className="relative flex h-5 w-20 touch-none items-center max-lg:hidden"
      >
        <Slider.Track className="relative h-1 grow rounded-full bg-line">
          <Slider.Range className="absolute h-full rounded-full bg-ink-soft" />
        </Slider.Track>
        <Slider.Thumb
          aria-label={t('player.volume')}
          aria-valuetext={format.percent(muted ? 0 : volume)}
          className="block size-3 rounded-full bg-ink-soft hover:bg-ink"
        />
      </Slider.Root>
    </div>
  );
}
