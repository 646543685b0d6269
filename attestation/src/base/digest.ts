/**
 * Domain-separated keccak-256: `keccak256(keccak256(tag) ‖ parts…)`. The hashed tag has a fixed length, so no two
 * domains share a preimage; every part has a fixed length or is the last one.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, uintBe, utf8 } from './bytes.js';
import { Rejection } from './errors.js';

/** 32 bytes. */
export type Digest = Uint8Array;

export function taggedDigest(tag: string, ...parts: readonly Uint8Array[]): Digest {
  return keccak_256(concatBytes(keccak_256(utf8(tag)), ...parts));
}

export function keccak(bytes: Uint8Array): Digest {
  return keccak_256(bytes);
}

/** Unsigned integer as one 32-byte big-endian word. */
export function word(value: number | bigint): Uint8Array {
  return uintBe(value, 32);
}

/** @throws Rejection DIGEST_LENGTH when `bytes` is not `size` long */
export function exactBytes(name: string, bytes: Uint8Array, size = 32): Uint8Array {
  if (bytes.length !== size) {
    throw new Rejection('DIGEST_LENGTH', {
      expected: `${name} of ${size} bytes`,
      got: `${bytes.length} bytes`,
      rule: 'attestation/SPEC.md, statements',
    });
  }
  return bytes;
}
