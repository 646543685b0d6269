/** Where ciphertexts lie: a folder, or an S3-compatible object store. Names are SHA-256 digests, 0x-hexadecimal. */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';

export interface StoredObject {
  readonly sha256: string;
  readonly bytes: number;
  readonly storedAt: Date;
}

/** Both ends belong to it. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

export interface ObjectStore {
  has(sha256: string): Promise<boolean>;
  /** Length of an object; null where there is none. */
  size(sha256: string): Promise<number | null>;
  /** @returns null where there is none */
  open(sha256: string, range?: ByteRange): Promise<Readable | null>;
  /** Takes a file that has this digest; it appears under its name whole or not at all. The file may be gone after. */
  adopt(file: string, sha256: string): Promise<void>;
  remove(sha256: string): Promise<void>;
  list(): AsyncIterable<StoredObject>;
}

/** `DIRECTORY/ab/abcdef…`; what is adopted was synced before. */
export class FileObjectStore implements ObjectStore {
  constructor(private readonly directory: string) {}

  async has(sha256: string): Promise<boolean> {
    return (await this.size(sha256)) !== null;
  }

  size(sha256: string): Promise<number | null> {
    return stat(this.path(sha256)).then(
      ({ size }) => size,
      () => null,
    );
  }

  async open(sha256: string, range?: ByteRange): Promise<Readable | null> {
    if (!(await this.has(sha256))) return null;
    return createReadStream(this.path(sha256), range && { start: range.from, end: range.to });
  }

  async adopt(file: string, sha256: string): Promise<void> {
    const path = this.path(sha256);
    await mkdir(dirname(path), { recursive: true });
    await rename(file, path);
    await syncDirectory(dirname(path));
  }

  async remove(sha256: string): Promise<void> {
    await rm(this.path(sha256), { force: true });
  }

  async *list(): AsyncIterable<StoredObject> {
    for (const folder of await namesIn(this.directory, /^[0-9a-f]{2}$/)) {
      for (const name of await namesIn(join(this.directory, folder), /^[0-9a-f]{64}$/)) {
        const found = await stat(join(this.directory, folder, name)).catch(() => null);
        if (found !== null) yield { sha256: `0x${name}`, bytes: found.size, storedAt: found.mtime };
      }
    }
  }

  private path(sha256: string): string {
    return join(this.directory, sha256.slice(2, 4), sha256.slice(2));
  }
}

async function namesIn(directory: string, shape: RegExp): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => shape.test(name)).toSorted();
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
