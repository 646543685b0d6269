/**
 * The hash of transcript and trees, keccak-256: the compiled kernel where WebAssembly with SIMD is at hand, that of
 * @noble/hashes elsewhere. A test compares them.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { hashPartsReference, type HashParts } from '#libs/step';
import { instantiate } from './field/wasm.js';
import { MODULE_BASE64 } from './keccak-module.js';

/** Exports of kernels/assembly/verifier.ts. */
interface HashModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly heapBase: { readonly value: number };
  hashMany(messages: number, length: number, count: number, out: number): void;
  beginHash(): void;
  blake3Many(key: number, messages: number, words: number, count: number, out: number): void;
  absorbBlocks(message: number, blocks: number): void;
  finishHash(message: number, rest: number, out: number): void;
}

const compiledModule = (): HashModule | undefined => instantiate<HashModule>(MODULE_BASE64);

/** Bytes that keccak-256 absorbs at once. */
const rate = 136;

/** Hashes `count` messages of equal length, one behind the other, to 32 bytes each. */
type HashMany = (messages: Uint8Array, count: number) => Uint8Array;

export const hashManyReference: HashMany = (messages, count) => {
  const length = messages.length / count;
  const digests = new Uint8Array(32 * count);
  for (let i = 0; i < count; i++) digests.set(keccak_256(messages.subarray(i * length, (i + 1) * length)), 32 * i);
  return digests;
};

/** @returns undefined where the module does not run */
export function compiledHashParts(module = compiledModule()): HashParts | undefined {
  if (module === undefined) return undefined;
  const base = module.heapBase.value;
  const memory = new Uint8Array(module.memory.buffer);
  const room = memory.subarray(base, base + rate * Math.floor((memory.length - base - 32) / rate));
  const out = base + room.length;
  return (parts) => {
    module.beginHash();
    let held = 0;
    for (const part of parts) {
      for (let at = 0; at < part.length;) {
        const taken = part.subarray(at, at + room.length - held);
        room.set(taken, held);
        at += taken.length;
        held += taken.length;
        if (held < room.length) continue;
        module.absorbBlocks(base, room.length / rate);
        held = 0;
      }
    }
    const blocks = Math.floor(held / rate);
    module.absorbBlocks(base, blocks);
    module.finishHash(base + rate * blocks, held - rate * blocks, out);
    return memory.slice(out, out + 32);
  };
}

/** @returns undefined where the module does not run */
export function compiledHashMany(module = compiledModule()): HashMany | undefined {
  if (module === undefined) return undefined;
  const base = module.heapBase.value;
  const memory = new Uint8Array(module.memory.buffer);
  const hashPart: HashMany = (messages, count) => {
    const out = base + messages.length;
    memory.set(messages, base);
    module.hashMany(base, messages.length / count, count, out);
    return memory.slice(out, out + 32 * count);
  };
  return inParts(memory.length - base, hashPart, hashManyReference);
}

/** `hashPart` of as many messages at a time as have room in so many bytes with their digests; `reference` where none has. */
export function inParts(room: number, hashPart: HashMany, reference: HashMany): HashMany {
  return (messages, count) => {
    const length = messages.length / count;
    const perCall = Math.floor(room / (length + 32));
    if (perCall >= count) return hashPart(messages, count);
    if (perCall === 0) return reference(messages, count);
    const digests = new Uint8Array(32 * count);
    for (let first = 0; first < count; first += perCall) {
      const until = Math.min(first + perCall, count);
      digests.set(hashPart(messages.subarray(first * length, until * length), until - first), 32 * first);
    }
    return digests;
  };
}

/** For all hashes: each call is over before the next begins. */
export const hashModule = compiledModule();

/** keccak-256 of messages of equal length: any number of them, one behind the other, to 32 bytes each. */
export const keccakMany: HashMany = compiledHashMany(hashModule) ?? hashManyReference;

/** keccak-256 of one message in parts, to 32 bytes. */
export const keccakParts: HashParts = compiledHashParts(hashModule) ?? hashPartsReference;

/** keccak-256: any bytes to 32 bytes. */
export function keccak(message: Uint8Array): Uint8Array {
  return keccakMany(message, 1);
}
