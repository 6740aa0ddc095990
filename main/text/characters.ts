/** Character classes by code unit, without regular expressions: they run once per character of long texts. */

export function isSpace(code: number): boolean {
  return (
    (code >= 9 && code <= 13) ||
    code === 0x20 ||
    code === 0x85 ||
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000
  );
}

/** Ends a line. CR LF is two code units of one line end. */
export function isLineEnd(code: number): boolean {
  return (
    code === 10 ||
    code === 11 ||
    code === 12 ||
    code === 13 ||
    code === 0x85 ||
    code === 0x2028 ||
    code === 0x2029
  );
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function isUpper(char: string): boolean {
  return char.toLowerCase() !== char;
}

export function isLower(char: string): boolean {
  return char.toUpperCase() !== char && !isUpper(char);
}

const letter = /\p{L}/u;

export function isLetter(char: string): boolean {
  const code = char.charCodeAt(0);
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
  return letter.test(char);
}

/** Chinese, Japanese and Korean signs, which are written without spaces. */
export function isIdeograph(code: number): boolean {
  return (
    (code >= 0x3040 && code <= 0x30ff) ||
    (code >= 0x3400 && code <= 0x4dbf) ||
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff)
  );
}

/** Closing quotation marks and brackets, and the asterisks and underscores of Markdown. */
export const closers = '"\'”’»›)]}」』】）*_`';
export const openers = '"\'“‘«‹([{「『【（*_`¿¡‚„';
/** Marks that end a sentence, in Western and East Asian writing. */
export const enders = '.!?…。！？｡‽؟।';
/** East Asian enders need no space after them. */
export const wideEnders = '。！？｡';

export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

export function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
