/**
 * The tree of hashes that dm-verity reads a device by (Linux Documentation/admin-guide/device-mapper/verity.rst): format 1,
 * SHA-256, blocks of 4096 bytes, no salt, the top level first.
 */
import { createHash } from 'node:crypto';
import { ConfigurationError } from '#attestation/base';

export const verityBlock = 4096;
const hashBytes = 32;

export interface VerityTree {
  /** Blocks of data. */
  readonly blocks: number;
  /** Hexadecimal. */
  readonly root: string;
  /** What follows the data on its device. */
  readonly tree: Uint8Array;
}

/** @param data  whole blocks, at least one */
export function verityTree(data: Uint8Array): VerityTree {
  const blocks = data.length / verityBlock;
  if (!Number.isSafeInteger(blocks) || blocks < 1) throw refused('whole blocks, at least one', `${data.length} bytes`);
  const levels: Uint8Array[] = [];
  let level = data;
  while (level.length > verityBlock) levels.unshift((level = hashesOf(level)));
  return { blocks, root: digest(level).toString('hex'), tree: Buffer.concat(levels) };
}

/**
 * Whether a device holds what the tree's root says, as the kernel finds out block by block.
 * @param device  data and tree
 * @throws ConfigurationError GUEST_ROOT: which part is another
 */
export function checkVerity(device: Uint8Array, { blocks, root }: Omit<VerityTree, 'tree'>): void {
  const size = blocks * verityBlock;
  if (device.length < size) throw refused(`${size} bytes of data and their tree`, `${device.length} bytes`);
  const found = verityTree(device.subarray(0, size));
  if (found.root !== root) throw refused(`data with root ${root}`, found.root);
  if (Buffer.compare(found.tree, device.subarray(size)) !== 0) throw refused('the tree of these data', 'another');
}

/** A level: the hash of each block below, in blocks filled up with zeros. */
function hashesOf(below: Uint8Array): Uint8Array {
  const count = below.length / verityBlock;
  const level = new Uint8Array(Math.ceil((count * hashBytes) / verityBlock) * verityBlock);
  for (let at = 0; at < count; at++)
    level.set(digest(below.subarray(at * verityBlock, (at + 1) * verityBlock)), at * hashBytes);
  return level;
}

function digest(block: Uint8Array): Buffer {
  return createHash('sha256').update(block).digest();
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_ROOT', {
    ...{ expected, got, rule: 'enclave/guest/README.md, root' },
    action: 'take the root.img of this image, or build it again',
  });
}
