/** Writers of the packed assets; the readers are dictionary.ts and letters-model.ts. */
import { gzipSync } from 'node:zlib';
import { firstCode, symbols } from '../arpabet.ts';
import { dictionaryFormat } from '../g2p/dictionary.ts';
import { letterModelFormat, logStep } from '../g2p/letters-model.ts';
import type { Graphone } from './align.ts';
import type { NGram } from './ngram.ts';

/** The same bytes on every machine: no time stamp, no name of the system. */
export function gzip(bytes: Uint8Array): Uint8Array {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  return packed;
}

export function packDictionary(entries: ReadonlyMap<string, string[][]>): Uint8Array {
  const code = new Map(symbols.map((symbol, i) => [symbol, String.fromCharCode(firstCode + i)]));
  const lines = [...entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([word, readings]) =>
        `${word}\t${readings.map((r) => r.map((p) => code.get(p)!).join('')).join(' ')}\n`,
    );
  return Buffer.from(`${dictionaryFormat} ${symbols.join(' ')}\n${lines.join('')}`, 'latin1');
}

export function packLetterModel(model: NGram, graphones: readonly Graphone[]): Uint8Array {
  const names = graphones.map((g) => `${g.letters}|${g.phones.join(' ')}`);
  const nodes = model.symbol.length;
  const out: number[] = [];
  const varint = (value: number) => {
    let rest = value;
    for (; rest > 127; rest >>>= 7) out.push((rest & 127) | 128);
    out.push(rest);
  };
  for (const count of model.childCount) varint(count);
  for (let i = 0; i < nodes; i++) {
    let last = 0;
    for (let c = model.firstChild[i]!; c < model.firstChild[i]! + model.childCount[i]!; c++) {
      varint(model.symbol[c]! - last);
      last = model.symbol[c]!;
    }
  }
  for (let i = 1; i < nodes; i++)
    out.push(Math.min(255, Math.max(0, Math.round(-model.logProbability[i]! / logStep))));
  for (let i = 0; i < nodes; i++) {
    if (model.childCount[i]! > 0)
      out.push(Math.min(255, Math.max(0, Math.round(model.logBackoff[i]! / logStep) + 200)));
  }
  const header = [letterModelFormat, model.order, nodes, ...names].join('\t');
  return Buffer.concat([Buffer.from(`${header}\n`, 'latin1'), Uint8Array.from(out)]);
}
