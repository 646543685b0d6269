/** The directory of a ZIP file (APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16, 4.5.3), for reading entries as streams. */
import type { FileHandle } from 'node:fs/promises';
import { refuseData } from '../errors.js';
import * as limits from '../limits.js';

export interface ZipEntry {
  readonly name: string;
  readonly isDeflated: boolean;
  /** Where its bytes begin. */
  readonly start: number;
  /** Bytes in the file, and of what they hold. */
  readonly packed: number;
  readonly size: number;
  /** CRC-32 of what they hold. */
  readonly checksum: number;
}

const entriesMax = 1_024;
const endBytes = 22;
const full = 0xffffffff;

/** @throws DataError DATA_ZIP */
export async function zipEntries(file: FileHandle, size: number, name: string): Promise<readonly ZipEntry[]> {
  const refuse = (expected: string, got: unknown): never =>
    refuseData('DATA_ZIP', { file: name }, { expected, got, action: 'get the file again, or save it anew' });
  const read = async (at: number, length: number): Promise<Buffer> => {
    if (at < 0 || length < 0 || at + length > size) refuse(`${length} bytes at ${at}`, `a file of ${size}`);
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, at);
    if (bytesRead !== length) refuse(`${length} bytes`, bytesRead);
    return bytes;
  };
  const tailLength = Math.min(size, endBytes + limits.zipCommentBytesMax);
  const tail = await read(size - tailLength, tailLength);
  const at = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (at < 0 || at + endBytes > tail.length) refuse('a ZIP directory', 'none');
  const count = tail.readUInt16LE(at + 10);
  const [length, from] = [tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  if (count > entriesMax || length > limits.zipDirectoryBytesMax || from === full) {
    refuse(
      `at most ${entriesMax} entries in a directory of ${limits.zipDirectoryBytesMax} bytes`,
      `${count}, ${length}`,
    );
  }
  const directory = await read(from, length);
  const entries: ZipEntry[] = [];
  for (let offset = 0; entries.length < count;) {
    if (offset + 46 > directory.length || directory.readUInt32LE(offset) !== 0x02014b50) refuse('an entry', 'none');
    const method = directory.readUInt16LE(offset + 10);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((more) =>
      directory.readUInt16LE(offset + more),
    ) as [number, number, number];
    const end = offset + 46 + nameLength + extraLength + commentLength;
    if (end > directory.length) refuse('a whole entry', 'part of one');
    const [encrypted] = [directory.readUInt16LE(offset + 8) & 1];
    if ((method !== 0 && method !== 8) || encrypted === 1) refuse('entries stored or deflated', `method ${method}`);
    const extra = directory.subarray(offset + 46 + nameLength, offset + 46 + nameLength + extraLength);
    const [packed, unpacked, local] = wide(
      [directory.readUInt32LE(offset + 20), directory.readUInt32LE(offset + 24), directory.readUInt32LE(offset + 42)],
      extra,
      refuse,
    );
    const head = await read(local, 30);
    if (head.readUInt32LE(0) !== 0x04034b50) refuse('a local entry', 'other bytes');
    const start = local + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    if (start + packed > size || (method === 0 && packed !== unpacked))
      refuse('entries inside the file', `${packed} bytes at ${start}`);
    entries.push({
      ...{ name: directory.toString('utf8', offset + 46, offset + 46 + nameLength), isDeflated: method === 8 },
      ...{ start, packed, size: unpacked, checksum: directory.readUInt32LE(offset + 16) },
    });
    offset = end;
  }
  return entries;
}

/** Sizes of 64 bits stand in an extra field, those that do not fit, in order. */
function wide(
  [packed, unpacked, local]: readonly [number, number, number],
  extra: Buffer,
  refuse: (expected: string, got: unknown) => never,
): [number, number, number] {
  let fields = Buffer.alloc(0);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === 1) fields = Buffer.from(extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2)));
  }
  let at = 0;
  const value = (given: number): number => {
    if (given !== full) return given;
    if (at + 8 > fields.length) refuse('a size of 64 bits', 'none');
    const found = Number(fields.readBigUInt64LE(at));
    at += 8;
    if (!Number.isSafeInteger(found)) refuse('a size below 2^53', found);
    return found;
  };
  const size = value(unpacked);
  return [value(packed), size, value(local)];
}
