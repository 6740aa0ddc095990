import type { TransportStatus } from '../audio/transport.ts';

export interface PlayerSlice {
  player: {
    jobId: string | null;
    status: TransportStatus;
    /** 0..1 */
    volume: number;
    muted: boolean;
    /** The audio is being read back from the host. */
    fetching: boolean;
    /** Grows with each jump, so that a still picture follows a seek while paused. */
    jumps: number;
    /** Jobs that were under way when somebody paused: they do not start to play by themselves. */
    quiet: string[];
  };
}

export const playerSlice = (kept: { volume: number; muted: boolean } | null): PlayerSlice => ({
  player: {
    jobId: null,
    status: 'idle',
    // Quiet at first: nobody knows what the speakers are set to.
    volume: kept?.volume ?? 0.3,
    muted: kept?.muted ?? false,
    fetching: false,
    jumps: 0,
    quiet: [],
  },
});
