import type { IncomingMessage } from 'node:http';
import { errorOf, Messages } from '../cli/messages.ts';
import { errorSchema, saidSchema } from '../contract/index.ts';

const english = new Messages('en');
const chinese = new Messages('zh-CN');

/** Sentences for whoever asks: Chinese where `Accept-Language` prefers it, else English. */
export function messagesFor({ headers }: Pick<IncomingMessage, 'headers'>): Messages {
  const wish = { en: 0, zh: 0 };
  for (const part of (headers['accept-language'] ?? '').split(',').slice(0, 50)) {
    const [tag = '', ...rest] = part.trim().split(';');
    const language = /^(en|zh)\b/i.exec(tag)?.[1]?.toLowerCase() as keyof typeof wish | undefined;
    if (language === undefined) continue;
    const quality = /^\s*q=([\d.]+)\s*$/.exec(rest[0] ?? 'q=1')?.[1];
    // Of equal wishes the first one counts.
    wish[language] = Math.max(wish[language], Number(quality ?? 0) - sum(wish) / 1e6);
  }
  return wish.zh > wish.en ? chinese : english;
}

const sum = ({ en, zh }: { en: number; zh: number }): number => en + zh;

/** A copy whose errors, warnings and reasons, wherever they stand, have their `message` in the reader's language. */
export function inWordsOf(messages: Messages, value: unknown): unknown {
  if (messages.language === 'en') return value;
  return translated(messages, value);
}

function translated(messages: Messages, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => translated(messages, one));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, translated(messages, one)]),
  );
  const message = sentence(messages, value);
  return message === null ? copy : { ...copy, message };
}

/** Null for what is neither an error nor said by a code. */
function sentence(messages: Messages, value: object): string | null {
  if (!('code' in value) || !('message' in value)) return null;
  const said = saidSchema.safeParse(value);
  if (said.success) return messages.said(said.data);
  const error = errorSchema.safeParse(value);
  return error.success ? messages.error(errorOf(error.data)) : null;
}
