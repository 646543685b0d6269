/**
 * The initial RAM disk as a cpio archive (`newc`, Linux Documentation/driver-api/early-userspace/buffer-format.rst), with
 * nothing in it but paths, modes and bytes: no time, no owner, no number of a file system.
 */

/** Bytes of a file, a link's target in UTF-8, or nothing for a folder. */
export interface ImageEntry {
  /** Without a leading slash. */
  readonly path: string;
  /** Type and permissions, for example 0o100644. */
  readonly mode: number;
  readonly bytes: Uint8Array;
}

export const folderMode = 0o040755;
export const fileMode = 0o100644;
export const programMode = 0o100755;

const typeBits = 0o170000;
const end = 'TRAILER!!!';
const lastBlock = 512;

/** Entries in the byte order of their paths, every folder above them added. */
export function withFolders(entries: readonly ImageEntry[]): readonly ImageEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry] as const));
  for (const { path } of entries) {
    for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) {
      const folder = path.slice(0, cut);
      if (!all.has(folder)) all.set(folder, { path: folder, mode: folderMode, bytes: new Uint8Array() });
    }
  }
  return [...all.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

/** @returns parts of the archive in order, so that a large file is never copied */
export function cpioArchive(entries: readonly ImageEntry[]): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let size = 0;
  const push = (bytes: Uint8Array): void => {
    parts.push(bytes);
    size += bytes.length;
  };
  const pad = (to: number): void => push(new Uint8Array((to - (size % to)) % to));
  const entry = ({ path, mode, bytes }: ImageEntry, ino: number): void => {
    const name = Buffer.from(`${path}\0`);
    const links = (mode & typeBits) === (folderMode & typeBits) ? 2 : 1;
    const fields = [ino, mode, 0, 0, links, 0, bytes.length, 0, 0, 0, 0, name.length, 0];
    push(Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`));
    push(name);
    pad(4);
    push(bytes);
    pad(4);
  };
  entries.forEach((each, index) => entry(each, index + 1));
  entry({ path: end, mode: 0, bytes: new Uint8Array() }, 0);
  pad(lastBlock);
  return parts.filter(({ length }) => length > 0);
}
