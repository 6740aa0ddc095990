/** Names that Windows keeps for devices, whatever their ending. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])$/;
const maxLength = 48;

/**
 * A short id made of a name: lower-case letters (of any script), digits, `.` and single dashes, never empty, never a
 * name that some system cannot have as a folder. Different names may come to the same id.
 */
export function slugOf(name: string, fallback: string): string {
  const plain = name
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}.]+/gu, '-')
    .replace(/\.{2,}/g, '.')
    // A mark without its letter is none.
    .replace(/^[-.\p{M}]+/u, '');
  const short = cut(plain);
  if (short === '') return fallback;
  return isReserved(short) ? cut(`${fallback}-${short}`) : short;
}

function isReserved(name: string): boolean {
  return reserved.test(name.split('.', 1)[0]!);
}

/** No half character, and nothing at the end that Windows drops. */
function cut(name: string): string {
  let short = '';
  for (const letter of name) {
    if (short.length + letter.length > maxLength) break;
    short += letter;
  }
  return short.replace(/[-.]+$/, '');
}
