/** Leaf and node hashes (SPEC §2.1). A node input ends in a domain byte, so its length never equals that of a leaf. */
import { concatBytes } from '#attestation';
import { keccak, type Keccak } from '../transcript/keccak.js';

export type TreeName = 'W0' | 'WT' | 'S' | 'D' | 'L1';

const version = 1;
const headerOf = (letter: string): number => 256 * letter.charCodeAt(0) + version;

/** The first word of every leaf of a tree. */
export const LEAF_HEADER: Readonly<Record<TreeName, number>> = {
  W0: headerOf('W'),
  WT: headerOf('W'),
  S: headerOf('S'),
  D: headerOf('D'),
  L1: headerOf('L'),
};

const nodeDomain = Uint8Array.of(0x01);

/** keccak256(be64(header) ‖ be64 of every symbol ‖ aux), 32 bytes; aux may be empty. */
export function hashLeaf(
  header: number,
  symbols: readonly bigint[],
  aux: Uint8Array,
  hash: Keccak = keccak,
): Uint8Array {
  const bytes = new Uint8Array(8 + 8 * symbols.length + aux.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(header));
  symbols.forEach((symbol, i) => view.setBigUint64(8 + 8 * i, symbol));
  bytes.set(aux, 8 + 8 * symbols.length);
  return hash(bytes);
}

/** keccak256(left ‖ right ‖ 0x01), 32 bytes. */
export function hashNode(left: Uint8Array, right: Uint8Array, hash: Keccak = keccak): Uint8Array {
  return hash(concatBytes(left, right, nodeDomain));
}
