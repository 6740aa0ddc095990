/** What Markdown, HTML and chat leave in a text that is not meant to be said. All patterns are bounded. */
import { type Match, type Rule, sticky } from './rule.ts';

const silent = (pattern: (text: string, at: number) => RegExpExecArray | null, lineStart = false): Rule => {
  return (context, at): Match | undefined => {
    if (
      lineStart &&
      at > 0 &&
      !/[\n\r\u2028\u2029]\s{0,8}$/.test(context.text.slice(Math.max(0, at - 10), at))
    )
      return undefined;
    const found = pattern(context.text, at);
    return found ? { end: at + found[0].length, say: '' } : undefined;
  };
};

const entities: Record<string, string> = {
  amp: 'and',
  lt: 'less than',
  gt: 'greater than',
  nbsp: '',
  quot: '',
  apos: '',
  mdash: ',',
  ndash: ',',
  hellip: '…',
  copy: 'copyright',
  euro: 'euros',
  pound: 'pounds',
};
const entity = sticky('&(?:#x?[0-9a-fA-F]{1,6}|([a-z]{2,8}));');

/** Horizontal rules, headings, quotations, list signs and table borders at the start of a line. */
export const lineRules: readonly Rule[] = [
  silent(sticky('(?:[-*_=~#]{3,}|(?:[-*_] ){2,}[-*_])[ \\t]*(?=[\\n\\r]|$)'), true),
  silent(sticky('#{1,6}[ \\t]+'), true),
  silent(sticky('(?:>[ \\t]?){1,8}(?=\\S)'), true),
  silent(sticky('(?:[-*+•▪◦‣·–—][ \\t]+)(?:\\[[ xX]\\][ \\t]+)?'), true),
  silent(sticky('\\|?(?:[ \\t]{0,4}:?-{2,}:?[ \\t]{0,4}\\|){1,30}(?:[ \\t]{0,4}:?-{2,}:?)?[ \\t]*'), true),
  silent(sticky('```[A-Za-z0-9+-]{0,20}|~~~[A-Za-z0-9+-]{0,20}')),
];

export const inlineRules: readonly Rule[] = [
  // The address of a link or an image; its text has been said.
  silent(
    sticky('\\]\\([^()\\s]{1,2000}(?:\\([^()\\s]{0,200}\\)[^()\\s]{0,200})?(?:\\s"[^"\\n]{0,200}")?\\)'),
  ),
  silent(sticky('!\\[(?=[^\\]\\n]{0,300}\\]\\()')),
  silent(sticky('\\[(?=[^\\]\\n]{1,300}\\]\\()')),
  // Footnote signs and check boxes
  silent(sticky('\\[\\^?\\d{1,3}\\]')),
  // <b>, </p>, <!-- -->
  silent(sticky('</?[a-zA-Z][a-zA-Z0-9-]{0,20}(?:\\s[^<>\\n]{0,500})?/?>|<!--[^\\n]{0,500}?-->')),
  silent(sticky('<(?=https?://)')),
  (context, at) => {
    const found = entity(context.text, at);
    if (!found) return undefined;
    return { end: at + found[0].length, say: found[1] === undefined ? '' : (entities[found[1]] ?? '') };
  },
  // :-) and friends, :smile: codes
  silent(
    sticky("(?:[:;=8][-o^']?[)(\\]\\[dDpP/|3*](?![\\p{L}\\p{N}])|<3|\\^_?\\^|[xX]D)(?![\\p{L}\\p{N}])", 'u'),
  ),
  silent(sticky(':[a-z][a-z0-9_+-]{1,30}:(?=\\s|$|[.,!?])')),
];
