/** PRF of libs/zk/SPEC.md §2.1: every random choice of a commitment or a proof, from one 32-byte seed. */
import { concatBytes, uintBe, utf8 } from '#attestation/base';
import type { BaseArray, CommittingBackend } from './backend.js';

/** seed ‖ length of the label ‖ label ‖ be64(index): what a counter is appended to. */
export function prfPrefix(seed: Uint8Array, label: string, index: number): Uint8Array {
  const name = utf8(label);
  return concatBytes(seed, Uint8Array.of(name.length), name, uintBe(index, 8));
}

/** `count` uniform field elements. */
export function prfElements(
  backend: CommittingBackend,
  seed: Uint8Array,
  label: string,
  index: number,
  count: number,
): BaseArray {
  return backend.randomElements(prfPrefix(seed, label, index), count);
}
