/** Ciphertexts that were just stored or fetched, so that a round's start and its partials travel once. */
import type { CipherStore } from '#libs/node';

const keptMax = 4;

export interface BlobCache {
  /** @returns the blob's name, 0x-hex SHA-256 */
  put(bytes: Uint8Array): Promise<string>;
  get(name: string): Promise<Uint8Array>;
}

export function createBlobCache(store: CipherStore): BlobCache {
  const kept = new Map<string, Uint8Array>();
  const keep = (name: string, bytes: Uint8Array): void => {
    kept.set(name, bytes);
    const [oldest] = kept.keys();
    if (kept.size > keptMax) kept.delete(oldest!);
  };
  return {
    async put(bytes) {
      const name = await store.putBlob(bytes);
      keep(name, bytes);
      return name;
    },
    async get(name) {
      const bytes = kept.get(name) ?? (await store.getBlob(name));
      keep(name, bytes);
      return bytes;
    },
  };
}
