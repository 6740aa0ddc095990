/** Folding of characters. `foldText` keeps the length, so that offsets stay true; `foldWord` may change it. */

const single: Record<string, string> = {
  '‘': "'",
  '’': "'",
  '‛': "'",
  '´': "'",
  ʼ: "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '‟': '"',
  '«': '"',
  '»': '"',
  '‐': '-',
  '‑': '-',
  '⁄': '/',
  '∕': '/',
  '∗': '*',
  '〜': '~',
  '「': '"',
  '」': '"',
  '『': '"',
  '』': '"',
  '【': '(',
  '】': ')',
};
const needsFolding = /[\u0080-\uffff]/;

/** Quotation marks, hyphens, slashes and full-width forms in their ASCII shape. As long as the original. */
export function foldText(text: string): string {
  if (!needsFolding.test(text)) return text;
  return text.replace(
    /[\u00b4\u00ab\u00bb\u02bc\u2010-\u2011\u2018-\u201f\u2044\u2215\u2217\u300c-\u3011\u301c\uff01-\uff5e]/g,
    (char) => {
      const code = char.charCodeAt(0);
      return code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - 0xfee0) : (single[char] ?? char);
    },
  );
}

const letters: Record<string, string> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'th',
  Ð: 'Th',
  þ: 'th',
  Þ: 'Th',
  ı: 'i',
  ŋ: 'ng',
  Ŋ: 'Ng',
  ħ: 'h',
  Ħ: 'H',
  ŧ: 't',
  ĸ: 'k',
  ſ: 's',
};

/** The letters a-z, apostrophes and hyphens of a word: café -> cafe, Straße -> Strasse. Foreign letters are dropped. */
export function foldWord(word: string): string {
  if (/^[A-Za-z'-]+$/.test(word)) return word;
  return word
    .normalize('NFKD')
    .replace(/[\u{80}-\u{10ffff}]/gu, (char) => letters[char] ?? '')
    .replace(/[^A-Za-z'-]/g, '');
}
