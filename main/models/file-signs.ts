/**
 * What downloads leave under a model file's name when they fail: fits after the file's name. Null where the beginning
 * of the file is what its name says.
 *
 * @param head the first bytes, 64 or more where the file has them
 */
export function checkpointProblem(file: string, head: Uint8Array, size: number): string | null {
  if (size === 0) return 'is empty, so its download failed';
  const text = String.fromCharCode(...head.subarray(0, 256));
  if (text.startsWith('version https://git-lfs')) {
    return 'is a Git LFS pointer, not the file itself: run "git lfs pull" there';
  }
  // A vocabulary may begin with any sign; no configuration or checkpoint begins with a tag.
  if (/^(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|\?xml)/i.test(text)) {
    return 'is a web page, so its download failed';
  }
  if (file.endsWith('.json') && !/^(?:\xef\xbb\xbf)?\s*[[{]/.test(text))
    return 'is not JSON, so it was cut or changed';
  if (file.endsWith('.safetensors')) {
    if (size < 10) return `has only ${size} bytes, fewer than a safetensors header`;
    if (text.startsWith('PK\x03\x04') || head[0] === 0x80)
      return 'is a pickle, which could run programs; safetensors is needed';
    if (text.startsWith('GGUF')) return 'is a GGUF file; safetensors is needed';
  }
  return null;
}
