const longestStem = 60;

/** A name for the audio of a text: its first words, without signs that any file system forbids. */
export function suggestedName(text: string, at: Date): string {
  const words = text
    .normalize('NFC')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these may not stand in a file name.
    .replace(/[\u0000-\u001f\u007f<>:"/\\|?*\ud800-\udfff]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  let stem = words;
  if ([...stem].length > longestStem) {
    stem = [...stem].slice(0, longestStem).join('');
    const lastSpace = stem.lastIndexOf(' ');
    if (lastSpace > longestStem / 2) stem = stem.slice(0, lastSpace);
  }
  stem = stem.replace(/^[. ]+|[. ,;:!…。，；：！]+$/gu, '');
  if (stem === '') stem = `mizuoto ${moment(at)}`;
  return `${stem}.wav`;
}

export function traceName(at: Date): string {
  return `mizuoto-memory ${moment(at)}.json`;
}

function moment(at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`;
}
