import type { OpenOutput } from './transport.ts';

const fadeSeconds = 0.012;

/**
 * The browser's sound output at the recording's own rate: the context resamples its whole output once, so blocks
 * meet sample on sample.
 */
export const openWebAudio: OpenOutput = (sampleRate, onLost) => {
  const context = new AudioContext({ sampleRate, latencyHint: 'playback' });
  const volume = context.createGain();
  volume.connect(context.destination);
  context.addEventListener('error', onLost);
  let closed = false;

  return {
    sampleRate,
    now: () => context.currentTime * sampleRate,
    suspended: () => context.state === 'suspended',
    resume: () => {
      if (context.state !== 'running') void context.resume();
    },
    setVolume: (value) => {
      volume.gain.setTargetAtTime(value, context.currentTime, 0.01);
    },
    open: () => {
      const fader = context.createGain();
      fader.connect(volume);
      const sources = new Set<AudioBufferSourceNode>();
      return {
        schedule: (samples, atFrame) => {
          const buffer = context.createBuffer(1, samples.length, sampleRate);
          buffer.copyToChannel(samples, 0);
          const source = context.createBufferSource();
          source.buffer = buffer;
          source.connect(fader);
          source.start(atFrame / sampleRate);
          sources.add(source);
          source.onended = () => {
            source.disconnect();
            sources.delete(source);
          };
        },
        stop: () => {
          if (closed) return;
          const now = context.currentTime;
          fader.gain.setValueAtTime(1, now);
          fader.gain.linearRampToValueAtTime(0, now + fadeSeconds);
          for (const source of sources) source.stop(now + fadeSeconds);
          setTimeout(() => fader.disconnect(), 200);
        },
      };
    },
    close: () => {
      closed = true;
      context.removeEventListener('error', onLost);
      void context.close();
    },
  };
};
