/**
 * Leaf and node hashes (libs/zk/SPEC.md §2.1). A node input ends in a domain byte, so its length never equals that of
 * a leaf.
 */
import { be64 } from './field/bytes.js';
import { keccakMany } from './keccak.js';

export type TreeName = 'W0' | 'WT' | 'S' | 'D' | 'L1' | 'L2' | 'L3';

const version = 1;
const headerOf = (letter: string): number => 256 * letter.charCodeAt(0) + version;

/** The first word of every leaf of a tree. */
export const LEAF_HEADER: Readonly<Record<TreeName, number>> = {
  W0: headerOf('W'),
  WT: headerOf('W'),
  S: headerOf('S'),
  D: headerOf('D'),
  L1: headerOf('L'),
  L2: headerOf('L'),
  L3: headerOf('L'),
};

const digestLength = 32;
const nodeDomain = 0x01;

/**
 * keccak256(be64(header) ‖ symbols ‖ aux) of leaves of equal length, 32 bytes each.
 *
 * @param symbols   big-endian words of each leaf
 * @param aux       the ending of each leaf; none without it
 */
export function hashLeaves(header: number, symbols: readonly Uint8Array[], aux?: readonly Uint8Array[]): Uint8Array[] {
  const [first, start] = [symbols[0]!.length, be64(BigInt(header))];
  const length = start.length + first + (aux?.[0]!.length ?? 0);
  const messages = new Uint8Array(length * symbols.length);
  symbols.forEach((words, i) => {
    messages.set(start, i * length);
    messages.set(words, i * length + start.length);
    if (aux) messages.set(aux[i]!, i * length + start.length + first);
  });
  return digestsOf(messages, symbols.length);
}

/** Length of the input of a node over digests of `digestBytes` bytes. */
export function nodeLength(digestBytes: number): number {
  return 2 * digestBytes + 1;
}

/**
 * keccak256(left ‖ right ‖ 0x01), 32 bytes each, one behind the other.
 *
 * @param inputs `nodeLength` bytes for each node; the last of them is set here
 */
export function hashNodes(inputs: Uint8Array, count: number): Uint8Array {
  const length = inputs.length / count;
  for (let end = length; end <= inputs.length; end += length) inputs[end - 1] = nodeDomain;
  return keccakMany(inputs, count);
}

function digestsOf(messages: Uint8Array, count: number): Uint8Array[] {
  const digests = keccakMany(messages, count);
  return Array.from({ length: count }, (_, i) => digests.subarray(i * digestLength, (i + 1) * digestLength));
}
