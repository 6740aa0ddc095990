export interface FileSign {
  /** Fits after the file's name. */
  why: string;
  /** What every language has a sentence for; null: none of these. */
  sign: 'empty' | 'lfs_pointer' | 'web_page' | 'cut' | null;
  /** Bytes that it has to have, for `cut`. */
  whole?: number;
}

/**
 * What downloads leave under a model file's name when they fail. Null where the beginning of the file is what its name
 * says.
 *
 * @param head the first bytes, 64 or more where the file has them
 */
export function fileSign(file: string, head: Uint8Array, size: number): FileSign | null {
  if (size === 0) return { why: 'is empty, so its download failed', sign: 'empty' };
  const text = String.fromCharCode(...head.subarray(0, 256));
  if (text.startsWith('version https://git-lfs')) {
    const why = 'is a Git LFS pointer, not the file itself: run "git lfs pull" there';
    return { why, sign: 'lfs_pointer' };
  }
  // A vocabulary may begin with any sign; no configuration or checkpoint begins with a tag.
  if (/^(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|\?xml)/i.test(text)) {
    return { why: 'is a web page, so its download failed', sign: 'web_page' };
  }
  const why = wrongKind(file, head, size, text);
  return why === null ? null : { why, sign: null };
}

function wrongKind(file: string, head: Uint8Array, size: number, text: string): string | null {
  if (file.endsWith('.json') && !/^(?:\xef\xbb\xbf)?\s*[[{]/.test(text)) {
    return 'is not JSON, so it was cut or changed';
  }
  if (!file.endsWith('.safetensors')) return null;
  if (size < 10) return `has only ${size} bytes, fewer than a safetensors header`;
  if (text.startsWith('PK\x03\x04') || head[0] === 0x80) {
    return 'is a pickle, which could run programs; safetensors is needed';
  }
  return text.startsWith('GGUF') ? 'is a GGUF file; safetensors is needed' : null;
}
