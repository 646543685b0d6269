import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { compiledHashMany, compiledHashParts, hashManyReference, keccak } from './keccak.js';

const pattern = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => (i * 37 + (i >> 5)) % 256);

describe('keccak-256', () => {
  const compiled = compiledHashMany()!;

  it('is compiled here, and agrees with the reference around the block borders', () => {
    for (const length of [1, 7, 8, 65, 134, 135, 136, 137, 271, 272, 273, 5000]) {
      for (const count of [1, 2, 3, 8]) {
        const messages = pattern(length * count);
        expect(compiled(messages, count)).toEqual(hashManyReference(messages, count));
      }
    }
  });

  it('hashes no byte, and more than the module’s memory holds', () => {
    expect(keccak(new Uint8Array(0))).toEqual(keccak_256(new Uint8Array(0)));
    const long = pattern(300_000);
    expect(compiled(long, 1)).toEqual(keccak_256(long));
    expect(compiled(long, 3000)).toEqual(hashManyReference(long, 3000));
  });

  it('hashes a message in parts, wherever they are cut and however long it is', () => {
    const hashParts = compiledHashParts()!;
    for (const length of [0, 1, 135, 136, 137, 272, 5000, 600_000]) {
      const message = pattern(length);
      for (const cuts of [[], [0], [1], [136], [length - 1], [7, 7, 140], [300_000]]) {
        const ends = [...cuts.filter((cut) => cut <= length), length];
        const parts = ends.map((end, at) => message.subarray(ends[at - 1] ?? 0, end));
        expect(hashParts(parts)).toEqual(keccak_256(message));
      }
    }
  });
});
