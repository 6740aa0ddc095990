import type { DoctorReport, Finding, SelfTest } from '../contract/index.ts';
import { reasonInChinese, valueInChinese } from '../contract/words.zh-CN.ts';
import type { Parsed } from './arguments.ts';
import { zhFindings, zhStep, zhWhy } from './findings.zh-CN.ts';
import { indent, withHost } from './listings.ts';
import { errorOf, fill, type Messages } from './messages.ts';
import { policyText } from './policy-table.ts';
import { checkFailedExit, displayWidth, harmless, print, printJson, type Surroundings } from './terminal.ts';

const statusKeys = {
  ok: 'statusOk',
  note: 'statusNote',
  warning: 'statusWarning',
  failed: 'statusFailed',
} as const;

/** `mizuoto doctor`: what works here, what does not, and what to do about it. */
export async function doctor(_parsed: Parsed, around: Surroundings): Promise<number> {
  const report = await withHost(around, (client) => client.call('doctor.run', {}));
  if (around.json) await printJson(around, report);
  else await print(around, harmless(doctorText(report, around.messages)));
  return report.ok ? 0 : checkFailedExit;
}

function doctorText(
  { versions, findings, self_tests, ok, ...policy }: DoctorReport,
  messages: Messages,
): string {
  const { mizuoto, ggml, node, platform } = versions;
  const marks = Object.values(statusKeys).map((key) => displayWidth(messages.get(key)));
  const width = Math.max(...marks);
  const line = (finding: Finding): string => {
    const mark = messages.get(statusKeys[finding.status]);
    return `${mark}${' '.repeat(width - displayWidth(mark))}  ${sentences(finding, messages).message}`;
  };
  const lines = [
    messages.get('doctorVersions', { mizuoto, ggml: ggml ?? '-', node, platform }),
    '',
    ...findings.map(line),
  ];
  for (const { device, copy_mb_per_second: rate } of self_tests) {
    if (rate !== null) {
      lines.push(
        `${' '.repeat(width)}  ${messages.get('doctorCopyRate', { device, rate: Math.round(rate) })}`,
      );
    }
  }
  const offers = self_tests.flatMap((test) => offersOf(test, messages));
  if (offers.length > 0) lines.push('', messages.get('doctorOffers'), ...offers.map(indent));
  const rules = policyText(policy, messages);
  if (rules !== '') lines.push('', rules);
  const fixes = fixesOf(findings, messages);
  lines.push('', messages.get(ok ? 'doctorSound' : 'doctorBroken'));
  if (fixes.length > 0) lines.push(messages.get('doctorFixes'));
  for (const [index, fix] of fixes.entries()) lines.push(indent(`${index + 1}. ${fix}`));
  return lines.join('\n');
}

/** What a device's backend offers, in one line; nothing where it could not be asked. */
function offersOf({ device, capabilities }: SelfTest, messages: Messages): string[] {
  if (capabilities === null) return [];
  const { dtypes, ...able } = capabilities;
  const words = Object.entries(able).map(([name, offered]) => [name, messages.get(offered ? 'yes' : 'no')]);
  return [
    messages.get('doctorOffer', { device, dtypes: messages.list(dtypes), ...Object.fromEntries(words) }),
  ];
}

/** In the order of the report's own list: what is broken first. */
function fixesOf(findings: readonly Finding[], messages: Messages): string[] {
  const order = ['failed', 'warning', 'note', 'ok'];
  const worst = [...findings].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  return [...new Set(worst.map((finding) => sentences(finding, messages).fix).filter((fix) => fix !== null))];
}

/** In the person's language; English where a value is missing. */
export function sentences(finding: Finding, messages: Messages): { message: string; fix: string | null } {
  if (messages.language === 'en') return finding;
  const { message, fix } = zhFindings[finding.id];
  const params = Object.fromEntries(
    Object.entries(finding.params).map(([place, value]) => [
      place,
      typeof value === 'string' ? valueInChinese(place, value) : value,
    ]),
  );
  if (finding.error !== null) params.reason = messages.error(errorOf(finding.error));
  if (finding.said !== undefined) params.problem = messages.said(finding.said);
  if (typeof params.why === 'string')
    params.why = zhWhy[params.why] ?? reasonInChinese(params.why) ?? params.why;
  if (typeof params.step === 'string') params.step = zhStep(params.step);
  if (params.identical !== undefined)
    params.identical = messages.get(params.identical === 'yes' ? 'yes' : 'no');
  return {
    message: fill(message, params) ?? finding.message,
    fix: fix === null ? null : (fill(fix, params) ?? finding.fix),
  };
}
