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
    .replace(/^\p{M}+/u, '')
    .replace(/\.{2,}/g, '.');
  let short = '';
  for (const letter of plain) {
    if (short.length + letter.length > maxLength) break;
    short += letter;
  }
  const trimmed = short.replace(/^[-.]+|[-.]+$/g, '');
  if (!/[\p{L}\p{N}]/u.test(trimmed)) return fallback;
  return reserved.test(trimmed.split('.', 1)[0]!) ? `${fallback}-${trimmed}` : trimmed;
}
