/**
 * A read-only file system of files and folders (Linux Documentation/filesystems/erofs.rst): compact inodes, plain data,
 * nothing compressed, no time, no owner, so that equal files are equal bytes.
 */
import { ConfigurationError } from '#attestation/base';
import { folderMode, withFolders, type ImageEntry } from './cpio.js';

const block = 4096;
const blockBits = 12;
const inodeBytes = 32;
const direntBytes = 12;
const superblockAt = 1024;
const magic = 0xe0f5e1e2;
/** Where inodes begin: the block after that of the superblock. */
const metaBlock = 1;
const typeBits = 0o170000;
const kinds = { file: 1, folder: 2 } as const;
const sizeMax = 2 ** 32 - 1;

interface Node {
  readonly path: string;
  readonly mode: number;
  readonly nid: number;
  readonly links: number;
  readonly data: Uint8Array;
}

/** @returns whole blocks. @throws ConfigurationError GUEST_ROOT: an entry that is no file or folder, or is too large */
export function erofsImage(files: readonly ImageEntry[]): Uint8Array {
  const nodes = nodesOf(withFolders(files));
  const metaBlocks = Math.ceil((nodes.length * inodeBytes) / block);
  let next = metaBlock + metaBlocks;
  const places = nodes.map(({ data }) => {
    const at = next;
    next += Math.ceil(data.length / block);
    return at;
  });
  const image = Buffer.alloc(next * block);
  writeSuperblock(image, nodes.length, next);
  nodes.forEach((node, index) => {
    const at = metaBlock * block + index * inodeBytes;
    image.writeUInt16LE(node.mode, at + 4);
    image.writeUInt16LE(node.links, at + 6);
    image.writeUInt32LE(node.data.length, at + 8);
    image.writeUInt32LE(node.data.length === 0 ? 0 : places[index]!, at + 16);
    image.writeUInt32LE(index + 1, at + 20);
    image.set(node.data, places[index]! * block);
  });
  return image;
}

function writeSuperblock(image: Buffer, inodes: number, blocks: number): void {
  image.writeUInt32LE(magic, superblockAt);
  image.writeUInt8(blockBits, superblockAt + 12);
  image.writeUInt16LE(0, superblockAt + 14);
  image.writeBigUInt64LE(BigInt(inodes), superblockAt + 16);
  image.writeUInt32LE(blocks, superblockAt + 36);
  image.writeUInt32LE(metaBlock, superblockAt + 40);
}

const isFolder = (mode: number): boolean => (mode & typeBits) === (folderMode & typeBits);

/** The root first, then every entry in the order of its path. */
function nodesOf(entries: readonly ImageEntry[]): readonly Node[] {
  const nids = new Map<string, number>([['', 0]]);
  entries.forEach(({ path }, index) => nids.set(path, index + 1));
  const root: ImageEntry = { path: '', mode: folderMode, bytes: new Uint8Array() };
  const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
  const children = new Map<string, ImageEntry[]>();
  for (const entry of entries) {
    if (entry.bytes.length > sizeMax || !(isFolder(entry.mode) || (entry.mode & typeBits) === 0o100000))
      throw refused('files of less than 4 GiB, and folders', entry.path);
    const parent = parentOf(entry.path);
    children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  return [root, ...entries].map(({ path, mode, bytes }, nid) => {
    if (!isFolder(mode)) return { path, mode, nid, links: 1, data: bytes };
    const own = children.get(path) ?? [];
    const names = [
      { name: '.', nid, kind: kinds.folder },
      { name: '..', nid: nids.get(parentOf(path))!, kind: kinds.folder },
      ...own.map((child) => ({
        name: child.path.slice(child.path.lastIndexOf('/') + 1),
        nid: nids.get(child.path)!,
        kind: isFolder(child.mode) ? kinds.folder : kinds.file,
      })),
    ];
    return { path, mode, nid, links: 2 + own.filter((child) => isFolder(child.mode)).length, data: folderData(names) };
  });
}

interface Name {
  readonly name: string;
  readonly nid: number;
  readonly kind: number;
}

/** Blocks, each with its entries in front and their names behind, in the byte order of names. */
function folderData(unsorted: readonly Name[]): Uint8Array {
  const names = unsorted
    .map((each) => ({ ...each, bytes: Buffer.from(each.name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  const parts: Buffer[] = [];
  for (let first = 0; first < names.length;) {
    let [end, size] = [first, 0];
    while (end < names.length && size + direntBytes + names[end]!.bytes.length <= block)
      size += direntBytes + names[end++]!.bytes.length;
    if (end === first) throw refused(`names of at most ${block - direntBytes} bytes`, names[first]!.name);
    const isLast = end === names.length;
    const part = Buffer.alloc(isLast ? size : block);
    let nameAt = (end - first) * direntBytes;
    names.slice(first, end).forEach(({ bytes, nid, kind }, index) => {
      part.writeBigUInt64LE(BigInt(nid), index * direntBytes);
      part.writeUInt16LE(nameAt, index * direntBytes + 8);
      part.writeUInt8(kind, index * direntBytes + 10);
      nameAt += bytes.copy(part, nameAt);
    });
    parts.push(part);
    first = end;
  }
  return Buffer.concat(parts);
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_ROOT', {
    ...{ expected, got, rule: 'enclave/guest/README.md, root' },
    action: 'name other files for the root in enclave/guest/image.json',
  });
}
