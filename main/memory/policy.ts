import type { DeviceInfo } from '../../native/addon.ts';
import type { Settings } from '../contract/settings.ts';

export const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** `auto` is resolved per device: `normal` on a discrete device, `shared` where memory is unified. */
export type VramMode = 'high' | 'normal' | 'low' | 'none' | 'shared';

/** The memory policy in force: the `compute.*` settings in bytes, with "the studio decides" filled in. */
export interface VramPolicy {
  mode: 'auto' | VramMode;
  reserveBytes: number;
  limitBytes: number | null;
  ramReserveBytes: number;
  hostCopies: 'auto' | 'on' | 'off';
  /** Units copied ahead of the one that computes. */
  asyncOffload: number;
  maxPinnedBytes: number;
  residency: 'rule' | 'cost';
  gpuJobs: number;
  kvCache: 'dynamic' | 'static';
  oomRetry: boolean;
  oomFallback: boolean;
}

/** Default budget of pinned host memory: Windows 40 % of RAM; elsewhere max(0.4 RAM, min(0.9 RAM, RAM - 4 GB)). */
export function defaultPinBudget(ramBytes: number, platform: NodeJS.Platform): number {
  const share = 0.4 * ramBytes;
  if (platform === 'win32') return Math.floor(share);
  return Math.floor(Math.max(share, Math.min(0.9 * ramBytes, ramBytes - 4 * GiB)));
}

/** Default RAM reserve: the larger of 2 GB and a tenth of RAM. */
export function defaultRamReserve(ramBytes: number): number {
  return Math.floor(Math.max(2 * GiB, ramBytes / 10));
}

export function policyFromSettings(
  settings: Settings,
  ramBytes: number,
  platform: NodeJS.Platform = process.platform,
): VramPolicy {
  const limit = settings['compute.vram_limit_mb'];
  const ramReserve = settings['compute.ram_reserve_mb'];
  const pinned = settings['compute.max_pinned_mb'];
  return {
    mode: settings['compute.vram_mode'],
    reserveBytes: settings['compute.vram_reserve_mb'] * MiB,
    limitBytes: limit === null ? null : limit * MiB,
    ramReserveBytes: ramReserve === null ? defaultRamReserve(ramBytes) : ramReserve * MiB,
    hostCopies: settings['compute.host_copies'],
    asyncOffload: settings['compute.async_offload'],
    maxPinnedBytes: pinned === null ? defaultPinBudget(ramBytes, platform) : pinned * MiB,
    residency: settings['compute.residency'],
    gpuJobs: settings['compute.gpu_jobs'],
    kvCache: settings['compute.kv_cache'],
    oomRetry: settings['compute.oom_retry'],
    oomFallback: settings['compute.oom_fallback'],
  };
}

/** The reserve for others is at most one part in four: on a small device the default would be all of it. */
const maxReserveShare = 4;

/** Bytes that are kept free on a device: the reserve as set, at most a quarter of what we may use of it. */
export function reserveInForce(
  { reserveBytes, limitBytes }: Pick<VramPolicy, 'reserveBytes' | 'limitBytes'>,
  totalBytes: number,
): number {
  const usable = Math.min(totalBytes, limitBytes ?? Number.POSITIVE_INFINITY);
  return Math.min(reserveBytes, Math.floor(usable / maxReserveShare));
}

/** Whether a device shares the processor's memory: integrated GPUs, and all that Metal (`MTL`) runs on here. */
export function isUnified(kind: DeviceInfo['kind'], backend: string): boolean {
  return kind === 'igpu' || backend === 'MTL';
}

/** Unified memory (an integrated GPU) maps weights instead of copying them; a discrete device places and streams. */
export function resolveMode(mode: VramPolicy['mode'], unified: boolean): VramMode {
  if (mode === 'auto') return unified ? 'shared' : 'normal';
  // Without unified memory there is nothing to share: whole components, copied, is what `shared` asks for.
  if (mode === 'shared' && !unified) return 'high';
  return mode;
}

/** Modes that plan whole components only. */
export function keepsWhole(mode: VramMode): mode is 'high' | 'shared' {
  return mode === 'high' || mode === 'shared';
}

/**
 * Whether components of a stage that ran out of memory get less of the device from then on. In a mode that keeps them
 * whole only together with the retry: who turns that off wants an error rather than a part.
 */
export function capsAfterOom(
  { mode, oomRetry }: Pick<VramPolicy, 'mode' | 'oomRetry'>,
  unified: boolean,
): boolean {
  return oomRetry || !keepsWhole(resolveMode(mode, unified));
}
