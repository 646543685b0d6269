/**
 * Where a long-lived tree is evaluated outside its domain, and the word that stands for the values
 * (libs/zk/SPEC.md §2.1).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, utf8 } from '#attestation/base';
import { extFromDigest, extWord } from '../field/bytes.js';
import type { Ext } from '../field/extension.js';

/** ext(keccak256("ood" ‖ root)); the second is ext(keccak256("ood2" ‖ root)). */
export function oodPoints(root: Uint8Array, count: number): Ext[] {
  return ['ood', 'ood2'].slice(0, count).map((tag) => extFromDigest(keccak_256(concatBytes(utf8(tag), root))));
}

/** One value itself; of two, the hash of their words. 32 bytes. */
export function oodWord(values: readonly Ext[]): Uint8Array {
  const words = values.map(extWord);
  return words.length === 1 ? words[0]! : keccak_256(concatBytes(...words));
}
