/**
 * Values on their way between the stand-in's main process and the page: JSON, with binary data as base64. Stands for
 * Electron's structured clone. Each function is complete in itself, because its source also runs in the page.
 */
export function encode(value: unknown): string {
  const toBase64 = (bytes: Uint8Array) => {
    let text = '';
    for (let i = 0; i < bytes.length; i += 0x8000)
      text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return btoa(text);
  };
  return JSON.stringify({ value }, (_key, item: unknown) => {
    if (item === undefined) return { $undefined: true };
    if (ArrayBuffer.isView(item)) {
      const bytes = new Uint8Array(item.buffer, item.byteOffset, item.byteLength);
      // Node's Buffer is a Uint8Array to the other side, as in a structured clone.
      const name = item instanceof Float32Array ? 'Float32Array' : 'Uint8Array';
      return { $binary: name, data: toBase64(bytes) };
    }
    return item;
  });
}

export function decode(text: string): unknown {
  const fromBase64 = (data: string) => Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const parsed = JSON.parse(text, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null) return item;
    if ('$binary' in item && 'data' in item && typeof item.data === 'string') {
      const bytes = fromBase64(item.data);
      return item.$binary === 'Float32Array' ? new Float32Array(bytes.buffer) : bytes;
    }
    return item;
  }) as { value: unknown };
  const revive = (item: unknown): unknown => {
    if (typeof item !== 'object' || item === null || ArrayBuffer.isView(item)) return item;
    if ('$undefined' in item) return undefined;
    if (Array.isArray(item)) return item.map(revive);
    return Object.fromEntries(Object.entries(item).map(([key, entry]) => [key, revive(entry)]));
  };
  return revive(parsed.value);
}
