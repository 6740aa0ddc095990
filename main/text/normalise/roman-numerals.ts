import { cardinal, ordinal, roman } from './numbers.ts';
import { nextWord, type Rule, rule } from './rule.ts';

const set = (words: string) => new Set(words.trim().split(/\s+/));

/** "Chapter IV" counts: "chapter four". */
const counted = set(`
  chapter part volume vol book act scene section phase class type level stage tier grade war bowl figure fig table appendix
  article title episode season unit mark mk version fantasy group division corps category canto psalm schedule annex amendment
  plate step round game series model generation gen rocky rambo apollo gemini saturn explorer olympiad vatican amiga pentium
  quarter zone sonata symphony concerto opus no number`);

/** "Henry VIII" is the eighth: kings, queens and popes. */
const rulers = set(`
  henry louis george edward charles james william richard elizabeth mary philip pius paul benedict leo clement innocent
  gregory urban francis frederick friedrich wilhelm otto nicholas peter catherine ivan alexander napoleon ramses ptolemy
  xerxes darius thutmose amenhotep cleopatra haakon christian gustav gustavus carl karl juan felipe alfonso ferdinand
  joseph leopold albert harald olaf olav malcolm robert david victor umberto pedro sixtus boniface adrian alfred stephen
  john edmund selim mehmed murad suleiman mahmud abbas theodore theodosius constantine justinian basil michael manuel
  rudolf maximilian sigismund casimir vladislav boris igor baldwin fulk alexios margrethe beatrix wilhelmina ludwig
  augustus sancho afonso manoel jose maria isabella joan jean henri philippe françois carlos`);

/** "King Harold II": the title tells where the list of names does not. */
const royal =
  /(?:King|Queen|Pope|Emperor|Empress|Tsar|Czar|Sultan|Kaiser|Prince|Duke|Pharaoh|Shah)\s\p{Lu}\p{L}+\s$/u;

/** After "Henry I" these show that the I is a numeral and no pronoun. */
const afterRuler = set(
  'was ruled reigned of died became made had is and built sent married won lost took gave led in , . ; ) : who whose as',
);

export const romanRules: readonly Rule[] = [
  // "Scene iv", "part ii"
  rule('[ivx]{2,6}(?![\\p{L}\\p{N}])', 'u', (m, context) => {
    const value = roman(m[0].toUpperCase());
    return value > 0 && counted.has(context.before.toLowerCase()) ? cardinal(String(value)) : undefined;
  }),
  // Ⅳ
  rule('[\\u2160-\\u217f]+', 'u', (m) => {
    const value = roman(m[0].normalize('NFKC').toUpperCase());
    return value > 0 ? cardinal(String(value)) : undefined;
  }),
  rule(
    "([IVXLCDM]{1,9})(?:'s|’s)?(?![\\p{L}\\p{N}'’.-])|([IVXLCDM]{1,9})(?=[.-](?!\\p{L}))",
    'u',
    (m, context, end) => {
      const text = m[1] ?? m[2]!;
      const value = roman(text);
      if (value === 0) return undefined;
      const before = context.before.toLowerCase();
      const possessive = /['’]s$/.test(m[0]) ? "'s" : '';
      const titled = royal.test(context.text.slice(Math.max(0, m.index - 40), m.index));
      if ((rulers.has(before) || titled) && /^\p{Lu}/u.test(context.before)) {
        if (!/^[IVX]+$/.test(text)) return undefined;
        if (text === 'X' && before === 'malcolm') return undefined;
        if (text === 'I') {
          const next = nextWord(context, end) || (context.text.slice(end).trimStart()[0] ?? '.');
          if (possessive === '' && !afterRuler.has(next)) return undefined;
        }
        return `the ${ordinal(String(value))}${possessive}`;
      }
      if (counted.has(before)) {
        // "type C", "group D" are letters.
        if (text.length === 1 && !'IVX'.includes(text)) return undefined;
        if (
          text === 'I' &&
          !/^\p{Lu}/u.test(context.before) &&
          /^[a-z']+$/.test(nextWord(context, end)) &&
          !/^(?:of|was|is|and|ended|began|in|to|the|had)$/.test(nextWord(context, end))
        ) {
          return undefined;
        }
        return cardinal(String(value)) + possessive;
      }
      // Any capitalised name with a number of several signs: "Rocky III", "World Cup XX".
      if (
        text.length >= 2 &&
        /^[IVX]+$/.test(text) &&
        (/^\p{Lu}/u.test(context.before) || context.before === '')
      ) {
        if (context.shouting || (/^(?:VI|XI|XX)$/.test(text) && context.before === '')) return undefined;
        return cardinal(String(value)) + possessive;
      }
      return undefined;
    },
  ),
];
