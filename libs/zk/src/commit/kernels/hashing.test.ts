import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { createEngine, type Offset } from './index.js';
import { be64, grind, leaf, node, prf } from './reference/hashing.js';
import { sampleBase } from './reference/samples.js';

const { memory, kernels } = createEngine({ rowLogMax: 4 });
const pattern = (count: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => (i * 37 + seed * 101 + (i >> 5)) % 256);
const read = (at: Offset, count: number): Uint8Array => Uint8Array.from(memory.bytes(at, count));

describe('keccak kernels against an independent keccak', () => {
  it('hashes buffers of every length around the block borders', () => {
    const out = memory.allocate(32);
    for (const length of [0, 1, 7, 8, 31, 32, 134, 135, 136, 137, 271, 272, 273, 1000]) {
      const message = pattern(length, length);
      kernels.keccak256(memory.placeBytes(message), length, out);
      expect(read(out, 32)).toEqual(keccak_256(message));
    }
  });

  it('has the leaf of the specification', () => {
    const out = memory.allocate(32);
    const rows = memory.placeTable([1n, 2n, 3n].map((symbol) => memory.place([symbol])));
    kernels.hashLeaves(rows, 3, 0, 1, 0x5301, 0, out);
    expect(Buffer.from(read(out, 32)).toString('hex')).toBe(
      '4ee7b382d5b4a75b702d6f152f479dc362b7e9c5c4c2dd2de4c888581b9995ee',
    );
  });

  it.each([0, 1, 3, 11, 12, 15, 16, 17, 33, 40])('hashes leaves of %i rows with and without aux', (rows) => {
    const columns = 5;
    const symbols = Array.from({ length: rows }, (_, row) => sampleBase(row + 1, columns));
    const at = memory.placeTable(symbols.map((row) => memory.place(row)));
    const aux = pattern(32 * columns, 9);
    const out = memory.allocate(32 * columns);
    for (const [auxAt, auxOf] of [
      [0, () => new Uint8Array(0)],
      [memory.placeBytes(aux), (i: number) => aux.slice(32 * i, 32 * i + 32)],
    ] as const) {
      kernels.hashLeaves(at, rows, 0, 2, 0x5701, auxAt, out);
      kernels.hashLeaves(at, rows, 2, columns, 0x5701, auxAt, out);
      for (let i = 0; i < columns; i++) {
        const column = symbols.map((row) => row[i]!);
        expect(read(out + 32 * i, 32)).toEqual(leaf(0x5701, column, auxOf(i)));
      }
    }
  });

  it.each([26, 32])('hashes nodes of digests cut to %i bytes', (digestBytes) => {
    for (const count of [1, 2, 7]) {
      const children = pattern(64 * count, count);
      const out = memory.allocate(32 * count);
      kernels.hashNodes(memory.placeBytes(children), 0, count, digestBytes, out);
      for (let i = 0; i < count; i++) {
        const [left, right] = [children.slice(64 * i, 64 * i + 32), children.slice(64 * i + 32, 64 * i + 64)];
        expect(read(out + 32 * i, 32)).toEqual(node(left, right, digestBytes));
      }
    }
  });

  it.each([0, 1, 3, 4, 5, 8, 9, 100])('generates %i words', (count) => {
    const prefix = pattern(45, 3);
    const out = memory.allocate(8 * count + 8);
    memory.words(out, count + 1).fill(0xabcn);
    kernels.prf(memory.placeBytes(prefix), prefix.length, count, out);
    expect([...memory.words(out, count)]).toEqual(prf(prefix, count));
    expect(memory.words(out + 8 * count, 1)[0]).toBe(0xabcn);
  });

  it('hashes counters in parts', () => {
    const prefix = pattern(120, 4);
    const [at, out] = [memory.placeBytes(prefix), memory.allocate(32 * 5)];
    kernels.counterHashes(at, prefix.length, 0, 3, out);
    kernels.counterHashes(at, prefix.length, 3, 5, out);
    for (let i = 0; i < 5; i++) {
      expect(read(out + 32 * i, 32)).toEqual(keccak_256(Uint8Array.from([...prefix, ...be64(BigInt(i))])));
    }
  });

  it('finds the lowest nonce and says when there is none', () => {
    const seed = pattern(32, 5);
    const at = memory.placeBytes(seed);
    const out = memory.allocate(4);
    const search = (begin: number, end: number, bits: number): number => {
      kernels.grind(at, begin, end, bits, out);
      return memory.integers(out, 1)[0]!;
    };
    for (const bits of [0, 1, 6, 11]) {
      const nonce = grind(seed, bits);
      expect(search(0, 2 ** 20, bits)).toBe(nonce);
      expect(search(0, nonce + 1, bits)).toBe(nonce);
      expect(search(0, nonce, bits)).toBe(nonce);
    }
    expect(search(3, 40, 32)).toBe(40);
  });
});
