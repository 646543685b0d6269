/** A tar archive (POSIX.1-2001 pax) with nothing in it but paths, modes, owners and bytes: every time is 0. */
import type { ImageEntry } from '../image/cpio.js';

export interface LayerEntry extends ImageEntry {
  /** Number of user and group; 0 where absent. */
  readonly owner?: number;
}

const block = 512;
const typeBits = 0o170000;
const folderType = 0o040000;
const nameMost = 100;

/** @returns parts of the archive in order, so that a large file is never copied */
export function tarArchive(entries: readonly LayerEntry[]): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  const file = (header: Uint8Array, bytes: Uint8Array): void => {
    parts.push(header, bytes, new Uint8Array((block - (bytes.length % block)) % block));
  };
  for (const { path, mode, bytes, owner = 0 } of entries) {
    const isFolder = (mode & typeBits) === folderType;
    const name = isFolder ? `${path}/` : path;
    if (Buffer.byteLength(name) > nameMost) {
      const record = paxRecord('path', name);
      file(header('pax', 'x', 0o644, record.length, 0), record);
    }
    file(header(name, isFolder ? '5' : '0', mode & 0o7777, bytes.length, owner), bytes);
  }
  parts.push(new Uint8Array(2 * block));
  return parts.filter(({ length }) => length > 0);
}

/** `LENGTH KEY=VALUE\n`, LENGTH in bytes of the whole record, its own digits included. */
function paxRecord(key: string, value: string): Uint8Array {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length;
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

/** @param name  cut where a pax record before it has the whole */
function header(name: string, kind: string, mode: number, size: number, owner: number): Uint8Array {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, width: number): void =>
    void bytes.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at, 'latin1');
  Buffer.from(name).copy(bytes, 0, 0, nameMost);
  octal(mode, 100, 8);
  octal(owner, 108, 8);
  octal(owner, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.write('        ', 148, 'latin1');
  bytes.write(kind, 156, 'latin1');
  bytes.write('ustar\x0000', 257, 'latin1');
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}
