import type { Device } from '../../native/addon.ts';
import { checkWeights } from './check-weights.ts';
import type { DeviceBook } from './device-book.ts';
import type { ModelHandle } from './model-handle.ts';

/** The devices and the loaded components under the memory manager. */
export class Inventory {
  readonly #books = new Map<Device, DeviceBook>();
  readonly #handles = new Map<string, ModelHandle>();
  /** Unregistered, and not yet gone from their devices. */
  readonly #freed = new Set<ModelHandle>();
  #clock = 0;

  addDevice(book: DeviceBook): void {
    this.#books.set(book.device, book);
  }

  removeDevice(device: Device): void {
    this.#books.delete(device);
  }

  book(device: Device): DeviceBook {
    const book = this.#books.get(device);
    if (book === undefined) throw new Error(`The device ${device.name} is not under the memory manager.`);
    return book;
  }

  get books(): DeviceBook[] {
    return [...this.#books.values()];
  }

  register(handle: ModelHandle): void {
    if (this.#handles.has(handle.id)) throw new Error(`A component "${handle.id}" is loaded already.`);
    this.#handles.set(handle.id, handle);
    this.touch([handle]);
  }

  /** `forget` runs when the component is no longer known and still has its memory. */
  async unregister(handle: ModelHandle, forget: () => void): Promise<void> {
    const remove = async (): Promise<void> => {
      if (handle.inUse) throw new Error(`"${handle.id}" is in use and cannot be unloaded.`);
      this.#handles.delete(handle.id);
      forget();
      this.#freed.add(handle);
      try {
        await handle.dispose();
      } finally {
        this.#freed.delete(handle);
      }
    };
    const book = this.#books.get(handle.device);
    // A plan that is being carried out may count on what this component gives up.
    await (book === undefined ? remove() : book.lock.run(remove));
  }

  handle(id: string): ModelHandle {
    const handle = this.#handles.get(id);
    if (handle === undefined) throw new Error(`No component "${id}" is loaded.`);
    return handle;
  }

  get handles(): ModelHandle[] {
    return [...this.#handles.values()];
  }

  /** Count as used now: the least recently used gives up first. */
  touch(handles: readonly ModelHandle[]): void {
    for (const handle of handles) handle.lastUsed = ++this.#clock;
  }

  /**
   * Handles by device, without those on the processor; always in the order in which devices were added, so that no two
   * loads wait for each other.
   */
  byDevice(handles: readonly ModelHandle[]): { book: DeviceBook; own: ModelHandle[] }[] {
    const result: { book: DeviceBook; own: ModelHandle[] }[] = [];
    for (const book of this.#books.values()) {
      if (book.device.isHost) continue;
      const own = [...new Set(handles)].filter((handle) => handle.device === book.device);
      if (own.length > 0) result.push({ book, own });
    }
    return result;
  }

  /** Throws where a handle and its device disagree, or where a device holds weights that no handle knows of. */
  verify(): void {
    for (const handle of this.#handles.values()) handle.verify();
    for (const book of this.#books.values()) {
      if (!book.device.isHost) checkWeights(book, this.#handles.values(), this.#freed);
    }
  }
}
