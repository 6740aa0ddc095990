import { amount, digitByDigit } from './numbers.ts';
import { type Context, type Rule, spell, sticky } from './rule.ts';
import { isPronounceable, splitCase } from './spelling.ts';

/** Endings that make a bare `name.ending` an address. */
const domains =
  'com org net edu gov io ai dev app co uk de fr es it nl eu ca au nz jp cn us info biz me tv gg xyz tech online site shop blog cloud';
const files =
  'txt pdf md html htm css js ts mjs cjs json yml yaml toml xml csv tsv png jpg jpeg gif svg webp mp3 mp4 wav flac ogg zip gz tar exe dll so py rs cpp hpp java rb go sh bat log ini cfg docx xlsx pptx doc xls ppt gguf safetensors onnx bin iso dmg deb rpm';
/** Endings that are said as words or have their own spelling. */
const endings: Record<string, string> = {
  com: 'com',
  org: 'org',
  net: 'net',
  info: 'info',
  biz: 'biz',
  dev: 'dev',
  app: 'app',
  zip: 'zip',
  exe: 'E X E',
  json: 'jason',
  jpeg: 'jay peg',
  gif: 'gif',
  wav: 'wave',
  log: 'log',
  bin: 'bin',
  java: 'java',
  bat: 'bat',
  tar: 'tar',
  edu: 'E D U',
  gov: 'gov',
  toml: 'toml',
  yaml: 'yaml',
  flac: 'flack',
  tech: 'tech',
  online: 'online',
  site: 'site',
  shop: 'shop',
  blog: 'blog',
  cloud: 'cloud',
  safetensors: 'safe tensors',
};

const signs: Record<string, string> = {
  '.': 'dot',
  '/': 'slash',
  ':': 'colon',
  '@': 'at',
  '-': 'dash',
  _: 'underscore',
  '?': 'question mark',
  '=': 'equals',
  '&': 'and',
  '#': 'hash',
  '%': 'percent',
  '+': 'plus',
  '~': 'tilde',
};

const host = '(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,24}';
const url = sticky(`(https?|ftp|file)://[^\\s<>"'\\u201c\\u201d()[\\]{}|]{1,4000}`, 'i');
const bare = sticky(
  `(?:www\\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.){1,8}(${[...domains.split(' '), ...files.split(' ')].join('|')})(?::\\d{2,5})?(?![A-Za-z0-9@-])(?:[/?#][^\\s<>"'()[\\]{}|]{0,2000})?`,
  'i',
);
const www = sticky(`www\\.${host}(?:/[^\\s<>"'()[\\]{}|]{0,2000})?`, 'i');
const mail = sticky(`[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@${host}`);
const handle = sticky('@([A-Za-z][A-Za-z0-9_]{1,39})');
const hashtag = sticky('#(?=\\d{0,8}[\\p{L}_])([\\p{L}\\p{N}_]{1,80})(?!-\\d)', 'u');
const address = sticky('\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?(?![\\p{L}\\p{N}.])', 'u');

/** Words, letters and digits of a name as in addresses: words stay, the rest is spelled. */
function readName(text: string, isWord: (word: string) => boolean): string {
  const said: string[] = [];
  for (const part of splitCase(text)) {
    if (/^\d+$/.test(part))
      said.push(part.length > 4 || part.startsWith('0') ? digitByDigit(part) : amount(part));
    else if (part.length === 1) said.push(part.toUpperCase());
    else if (isWord(part.toLowerCase()) || isPronounceable(part) || part.length > 8)
      said.push(part.toLowerCase());
    else said.push(spell(part));
  }
  return said.join(' ');
}

function readAddress(text: string, context: Context): string {
  const said: string[] = [];
  const parts = text.match(/[A-Za-z0-9]+|[^A-Za-z0-9]/g) ?? [];
  parts.forEach((part, i) => {
    const sign = signs[part];
    if (sign) said.push(sign);
    else if (/[A-Za-z0-9]/.test(part)) {
      const key = part.toLowerCase();
      const afterDot = parts[i - 1] === '.';
      if (key === 'www') said.push('W W W');
      else if (afterDot && endings[key]) said.push(endings[key]);
      else if (
        afterDot &&
        part.length <= 4 &&
        (files.split(' ').includes(key) || domains.split(' ').includes(key))
      )
        said.push(spell(part));
      else said.push(readName(part, context.isWord));
    }
  });
  return said.join(' ');
}

/** Marks at the end of an address belong to the sentence. */
function trim(text: string): string {
  return text.replace(/[.,;:!?…*_]+$/, '').replace(/\/$/, '');
}

function endOf(found: RegExpExecArray): { text: string; end: number } {
  const body = found[0].replace(/[.,;:!?…*_]+$/, '');
  return { text: trim(body), end: found.index + body.length };
}

export const webRules: readonly Rule[] = [
  ({ text, ...rest }, at) => {
    const found = mail(text, at);
    return found ? { end: at + found[0].length, say: readAddress(found[0], { text, ...rest }) } : undefined;
  },
  (context, at) => {
    const found = url(context.text, at) ?? www(context.text, at);
    if (!found) return undefined;
    const { text, end } = endOf(found);
    const plain = text.replace(/^(?:https?|ftp|file):\/\//i, '').replace(/^www\./i, '');
    // Long paths and queries are noise to a listener: the host and a short path are enough.
    const short = plain.split(/[?#]/)[0]!;
    const spoken = short.length > 60 ? short.split('/')[0]! : short;
    return { end, say: readAddress(trim(spoken), context) };
  },
  (context, at) => {
    const found = address(context.text, at);
    if (!found) return undefined;
    const say = found[0]
      .split(/([.:])/)
      .map((part) => (part === '.' ? 'dot' : part === ':' ? 'port' : digitByDigit(part)))
      .join(' ');
    return { end: at + found[0].length, say };
  },
  (context, at) => {
    const found = bare(context.text, at);
    if (!found) return undefined;
    const { text, end } = endOf(found);
    // "He came.It rained", "etc.me": a capital ending or a known word is no address.
    if (/\.[A-Z][a-z]+$/.test(text)) return undefined;
    return { end, say: readAddress(text, context) };
  },
  (context, at) => {
    const found = handle(context.text, at);
    return found
      ? { end: at + found[0].length, say: `at ${readName(found[1]!, context.isWord)}` }
      : undefined;
  },
  (context, at) => {
    const found = hashtag(context.text, at);
    return found
      ? { end: at + found[0].length, say: `hashtag ${readName(found[1]!, context.isWord)}` }
      : undefined;
  },
];
