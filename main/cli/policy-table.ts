import type { RuntimeSnapshot } from '../contract/index.ts';
import { indent } from './listings.ts';
import type { MessageKey } from './messages.en.ts';
import type { Messages } from './messages.ts';
import { size } from './size.ts';
import { table } from './terminal.ts';

type Value = RuntimeSnapshot['policy'][string];

/** In the order in which they are read: what is kept where, then how it moves, then what happens without memory. */
const meanings: Record<string, MessageKey> = {
  'compute.device': 'policyDevice',
  'compute.simulate_vram_mb': 'policySimulate',
  'compute.vram_mode': 'policyMode',
  'compute.vram_reserve_mb': 'policyReserve',
  'compute.vram_limit_mb': 'policyLimit',
  'compute.ram_reserve_mb': 'policyRamReserve',
  'compute.host_copies': 'policyHostCopies',
  'compute.max_pinned_mb': 'policyPinned',
  'compute.async_offload': 'policyCopyStreams',
  'compute.residency': 'policyResidency',
  'compute.kv_cache': 'policyCache',
  'compute.gpu_allocator': 'policyAllocator',
  'compute.gpu_jobs': 'policyJobs',
  'compute.oom_retry': 'policyRetry',
  'compute.oom_fallback': 'policyFallback',
  'compute.max_resident_models': 'policyModels',
  'compute.unload_after_minutes': 'policyIdle',
};

/** The memory policy in force, and below it where and why it is not what is set; empty where nothing is known of it. */
export function policyText(
  { policy, policy_notes: notes }: Pick<RuntimeSnapshot, 'policy' | 'policy_notes'>,
  messages: Messages,
): string {
  const rules = policyTable(policy, messages);
  if (rules === '') return '';
  return [
    messages.get('runtimePolicy'),
    indent(rules),
    ...notes.map((note) => indent(messages.said(note))),
  ].join('\n');
}

/** Setting, value, and what it decides. */
function policyTable(policy: RuntimeSnapshot['policy'], messages: Messages): string {
  const keys = Object.keys(meanings).filter((key) => key in policy);
  const rows = keys.map((key) => [key, shown(key, policy[key]!, messages), messages.get(meanings[key]!)]);
  const [first, ...rest] = rows;
  return first === undefined ? '' : table(first, rest);
}

function shown(key: string, value: Value, messages: Messages): string {
  if (value === null) return messages.get('policyNone');
  if (typeof value === 'boolean') return messages.get(value ? 'policyOn' : 'policyOff');
  if (typeof value === 'number' && key.endsWith('_mb')) return size(value * 1024 * 1024);
  return String(value);
}
