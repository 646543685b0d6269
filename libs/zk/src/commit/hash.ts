/**
 * Leaf, node and nonce hashes (libs/zk/SPEC.md §2.1, §5). Under keccak-256 a node input ends in a domain byte, so its
 * length never equals that of a leaf; under BLAKE3 each has a key of its own.
 */
import { concatBytes, utf8 } from '#attestation/base';
import { blake3Many } from './blake3.js';
import { be64 } from './field/bytes.js';
import { keccakMany } from './keccak.js';

export type TreeName = 'W0' | 'WT' | 'S' | 'D' | 'L1' | 'L2' | 'L3';

export type HashName = 'keccak' | 'blake3';

/** How the digests of a tree are made. */
export interface TreeHash {
  readonly hash: HashName;
  /** Length of Merkle digests below the root: 32 under BLAKE3. */
  readonly digestBytes: number;
}

/** What BLAKE3 is keyed with: the name of what is hashed, filled up with zeros. */
export const blake3Keys = {
  leaf: keyOf('fxt-zk/blake3/leaf'),
  node: keyOf('fxt-zk/blake3/node'),
  nonce: keyOf('fxt-zk/blake3/nonce'),
} as const;

const hashIds: Readonly<Record<HashName, number>> = { keccak: 1, blake3: 2 };
const letters: Readonly<Record<TreeName, string>> = { W0: 'W', WT: 'W', S: 'S', D: 'D', L1: 'L', L2: 'L', L3: 'L' };

/** The first word of every leaf of a tree: 256·the letter of the tree + the id of the hash. */
export function leafHeader(tree: TreeName, hash: HashName): number {
  return 256 * letters[tree].charCodeAt(0) + hashIds[hash];
}

const digestLength = 32;
const nodeDomain = 0x01;

/**
 * H(be64(leafHeader) ‖ symbols ‖ aux) of leaves of equal length, 32 bytes each.
 *
 * @param symbols   big-endian words of each leaf
 * @param aux       the ending of each leaf; none without it
 */
export function hashLeaves(
  hash: HashName,
  tree: TreeName,
  symbols: readonly Uint8Array[],
  aux?: readonly Uint8Array[],
): Uint8Array[] {
  const [first, start] = [symbols[0]!.length, be64(BigInt(leafHeader(tree, hash)))];
  const length = start.length + first + (aux?.[0]!.length ?? 0);
  const messages = new Uint8Array(length * symbols.length);
  symbols.forEach((words, i) => {
    messages.set(start, i * length);
    messages.set(words, i * length + start.length);
    if (aux) messages.set(aux[i]!, i * length + start.length + first);
  });
  const count = symbols.length;
  const digests = hash === 'keccak' ? keccakMany(messages, count) : blake3Many(blake3Keys.leaf, messages, count);
  return Array.from({ length: count }, (_, i) => digests.subarray(i * digestLength, (i + 1) * digestLength));
}

/** Length of the input of a node. */
export function nodeLength({ hash, digestBytes }: TreeHash): number {
  return 2 * digestBytes + (hash === 'keccak' ? 1 : 0);
}

/**
 * H(left ‖ right), and keccak256(left ‖ right ‖ 0x01), 32 bytes each, one behind the other.
 *
 * @param inputs `nodeLength` bytes for each node; the domain byte is set here
 */
export function hashNodes(hash: HashName, inputs: Uint8Array, count: number): Uint8Array {
  if (hash === 'blake3') return blake3Many(blake3Keys.node, inputs, count);
  const length = inputs.length / count;
  for (let end = length; end <= inputs.length; end += length) inputs[end - 1] = nodeDomain;
  return keccakMany(inputs, count);
}

/** The hash that a nonce is searched for: its first bits are to be zero. */
export function hashNonce(hash: HashName, seed: Uint8Array, nonce: Uint8Array): Uint8Array {
  const message = concatBytes(seed, nonce);
  return hash === 'keccak' ? keccakMany(message, 1) : blake3Many(blake3Keys.nonce, message, 1);
}

function keyOf(name: string): Uint8Array {
  const key = new Uint8Array(32);
  key.set(utf8(name));
  return key;
}
