import type { DeviceSnapshot, RuntimeSnapshot } from '../contract/runtime.ts';
import { type Said, say } from '../contract/said.ts';
import type { Settings } from '../contract/settings.ts';
import { mib } from '../memory/planner/reasons.ts';
import { reserveInForce, resolveMode, type VramPolicy } from '../memory/policy.ts';

/**
 * The memory policy in force on `device` (null: there is none): `auto` and "the studio decides" replaced by what they
 * come to. `notes`: what is in force instead of what is set, and why.
 */
export function policyInForce(
  settings: Settings,
  policy: VramPolicy,
  device: Pick<DeviceSnapshot, 'id' | 'kind' | 'unified' | 'total_bytes'> | null,
): { values: RuntimeSnapshot['policy']; notes: Said[] } {
  const moves = device !== null && device.kind !== 'cpu';
  const reserve = moves
    ? reserveInForce(policy, device.total_bytes)
    : device === null
      ? policy.reserveBytes
      : 0;
  const values = {
    'compute.device': settings['compute.device'],
    'compute.vram_mode': moves ? resolveMode(policy.mode, device.unified) : policy.mode,
    'compute.vram_reserve_mb': mib(reserve),
    'compute.vram_limit_mb': settings['compute.vram_limit_mb'],
    'compute.ram_reserve_mb': mib(policy.ramReserveBytes),
    'compute.host_copies': policy.hostCopies,
    'compute.async_offload': policy.asyncOffload,
    'compute.max_pinned_mb': mib(policy.maxPinnedBytes),
    'compute.residency': policy.residency,
    'compute.kv_cache': settings['compute.kv_cache'],
    'compute.gpu_allocator': settings['compute.gpu_allocator'],
    'compute.gpu_jobs': policy.gpuJobs,
    'compute.oom_retry': policy.oomRetry,
    'compute.oom_fallback': policy.oomFallback,
    'compute.max_resident_models': settings['compute.max_resident_models'],
    'compute.unload_after_minutes': settings['compute.unload_after_minutes'],
    'compute.simulate_vram_mb': settings['compute.simulate_vram_mb'],
  };
  return { values, notes: device === null ? [] : notesOf(policy, device, reserve) };
}

function notesOf(
  policy: VramPolicy,
  {
    id,
    kind,
    unified,
    total_bytes: totalBytes,
  }: Pick<DeviceSnapshot, 'id' | 'kind' | 'unified' | 'total_bytes'>,
  reserveBytes: number,
): Said[] {
  if (kind === 'cpu') return [say('policy_processor', { device: id })];
  const notes: Said[] = [];
  const mode = resolveMode(policy.mode, unified);
  if (policy.mode === 'auto')
    notes.push(say(unified ? 'policy_auto_unified' : 'policy_auto', { device: id, mode }));
  else if (mode !== policy.mode) notes.push(say('policy_not_shared', { device: id, mode }));
  if (reserveBytes !== policy.reserveBytes) {
    const usable = mib(Math.min(totalBytes, policy.limitBytes ?? Number.POSITIVE_INFINITY));
    const params = { device: id, set: mib(policy.reserveBytes), usable, reserve: mib(reserveBytes) };
    notes.push(say('policy_reserve', params));
  }
  return notes;
}
