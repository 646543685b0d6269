/**
 * Keyed BLAKE3 of the verifier: the compiled kernel where WebAssembly with SIMD is at hand, that of @noble/hashes
 * elsewhere. A test compares them.
 */
import { blake3 } from '@noble/hashes/blake3.js';
import { hashModule, inParts } from './keccak.js';

/** Hashes `count` messages of equal length, one behind the other, to 32 bytes each. */
type KeyedHashMany = (key: Uint8Array, messages: Uint8Array, count: number) => Uint8Array;

export const blake3ManyReference: KeyedHashMany = (key, messages, count) => {
  const length = messages.length / count;
  const digests = new Uint8Array(32 * count);
  for (let i = 0; i < count; i++) {
    digests.set(blake3(messages.subarray(i * length, (i + 1) * length), { key }), 32 * i);
  }
  return digests;
};

/** For messages of whole words of 8 bytes, at least one. @returns undefined where the module does not run */
export function compiledBlake3Many(module = hashModule): KeyedHashMany | undefined {
  if (module === undefined) return undefined;
  const keyAt = module.heapBase.value;
  const base = keyAt + 32;
  const memory = new Uint8Array(module.memory.buffer);
  const hashPart: KeyedHashMany = (key, messages, count) => {
    const out = base + messages.length;
    memory.set(key, keyAt);
    memory.set(messages, base);
    module.blake3Many(keyAt, base, messages.length / count / 8, count, out);
    return memory.slice(out, out + 32 * count);
  };
  return (key, messages, count) => {
    const hash = inParts(
      memory.length - base,
      (part, some) => hashPart(key, part, some),
      (part, some) => blake3ManyReference(key, part, some),
    );
    return hash(messages, count);
  };
}

/** BLAKE3 of messages of equal length, whole words of 8 bytes: one behind the other, to 32 bytes each. */
export const blake3Many: KeyedHashMany = compiledBlake3Many() ?? blake3ManyReference;
