/**
 * The hash of transcript and trees, keccak-256: the compiled kernel where WebAssembly with SIMD is at hand, that of
 * @noble/hashes elsewhere. A test compares them.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { instantiate } from '../field/wasm.js';
import { MODULE_BASE64 } from './keccak-module.js';

/** Exports of kernels/assembly/verifier.ts. */
interface HashModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly heapBase: { readonly value: number };
  hashMany(messages: number, length: number, count: number, out: number): void;
}

/** Hashes `count` messages of equal length, one behind the other, to 32 bytes each. */
export type HashMany = (messages: Uint8Array, count: number) => Uint8Array;

export const hashManyReference: HashMany = (messages, count) => {
  const length = messages.length / count;
  const digests = new Uint8Array(32 * count);
  for (let i = 0; i < count; i++) digests.set(keccak_256(messages.subarray(i * length, (i + 1) * length)), 32 * i);
  return digests;
};

/** @returns undefined where the module does not run */
export function compiledHashMany(): HashMany | undefined {
  const module = instantiate<HashModule>(MODULE_BASE64);
  if (module === undefined) return undefined;
  const base = module.heapBase.value;
  const memory = new Uint8Array(module.memory.buffer);
  const hashPart: HashMany = (messages, count) => {
    const out = base + messages.length;
    memory.set(messages, base);
    module.hashMany(base, messages.length / count, count, out);
    return memory.slice(out, out + 32 * count);
  };
  return (messages, count) => {
    const length = messages.length / count;
    const perCall = Math.floor((memory.length - base) / (length + 32));
    if (perCall >= count) return hashPart(messages, count);
    if (perCall === 0) return hashManyReference(messages, count);
    const digests = new Uint8Array(32 * count);
    for (let first = 0; first < count; first += perCall) {
      const until = Math.min(first + perCall, count);
      digests.set(hashPart(messages.subarray(first * length, until * length), until - first), 32 * first);
    }
    return digests;
  };
}

/** keccak-256 of messages of equal length: any number of them, one behind the other, to 32 bytes each. */
export const keccakMany: HashMany = compiledHashMany() ?? hashManyReference;

/** keccak-256: any bytes to 32 bytes. */
export function keccak(message: Uint8Array): Uint8Array {
  return keccakMany(message, 1);
}
