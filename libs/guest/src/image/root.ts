/** The part of an image that lies on a disk of the guest: a file system, its tree of hashes, and the words that pin both. */
import type { ImageEntry } from './cpio.js';
import { erofsImage } from './erofs.js';
import { verityTree } from './verity.js';

interface VerityRoot {
  /** The disk. */
  readonly bytes: readonly Uint8Array[];
  /** For the measured command line. */
  readonly word: string;
}

/** @throws ConfigurationError GUEST_ROOT */
export function verityRoot(files: readonly ImageEntry[]): VerityRoot {
  const data = erofsImage(files);
  const { blocks, root, tree } = verityTree(data);
  return { bytes: [data, tree], word: rootWord(blocks, root) };
}

function rootWord(blocks: number, root: string): string {
  return `veritrain.root=${blocks}:${root}`;
}

/** What a command line pins; undefined where it pins no root. */
export function rootOf(commandLine: string): { readonly blocks: number; readonly root: string } | undefined {
  const words = commandLine.split(' ').filter((word) => word.startsWith('veritrain.root='));
  const [, blocks, root] = /^veritrain\.root=([1-9]\d{0,9}):([0-9a-f]{64})$/.exec(words[0] ?? '') ?? [];
  return words.length === 1 && blocks !== undefined && root !== undefined
    ? { blocks: Number(blocks), root }
    : undefined;
}
