import { blake3 } from '@noble/hashes/blake3.js';
import { describe, expect, it } from 'vitest';
import { createEngine, type Offset } from './index.js';
import { be64 } from './reference/hashing.js';
import { sampleBase } from './reference/samples.js';

const { memory, kernels } = createEngine({ rowLogMax: 4 });
const pattern = (count: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => (i * 37 + seed * 101 + (i >> 5)) % 256);
const read = (at: Offset, count: number): Uint8Array => Uint8Array.from(memory.bytes(at, count));
const key = pattern(32, 77);
const keyed = (message: readonly number[]): Uint8Array => blake3(Uint8Array.from(message), { key });

describe('BLAKE3 kernels against an independent BLAKE3', () => {
  // Leaves of up to five chunks of 1,024 bytes, and around the borders of blocks and chunks.
  it.each([0, 1, 6, 7, 8, 122, 123, 124, 126, 127, 128, 129, 254, 255, 256, 300, 384, 513, 639])(
    'hashes leaves of %i rows with and without aux',
    (rows) => {
      const mark = memory.mark();
      const columns = 7;
      const symbols = Array.from({ length: rows }, (_, row) => sampleBase(row + 1, columns));
      const at = memory.placeTable(symbols.map((row) => memory.place(row)));
      const aux = pattern(32 * columns, 9);
      const [keyAt, out] = [memory.placeBytes(key), memory.allocate(32 * columns)];
      for (const [auxAt, auxOf] of [
        [0, () => new Uint8Array(0)],
        [memory.placeBytes(aux), (i: number) => aux.slice(32 * i, 32 * i + 32)],
      ] as const) {
        kernels.blake3Leaves(keyAt, at, rows, 0, 4, 0x5702, auxAt, out);
        kernels.blake3Leaves(keyAt, at, rows, 4, columns, 0x5702, auxAt, out);
        for (let i = 0; i < columns; i++) {
          const words = symbols.flatMap((row) => be64(row[i]!));
          expect(read(out + 32 * i, 32)).toEqual(keyed([...be64(0x5702n), ...words, ...auxOf(i)]));
        }
      }
      memory.release(mark);
    },
  );

  it.each([1, 2, 3, 4, 5, 11])('hashes %i nodes', (count) => {
    const children = pattern(64 * count, count);
    const [keyAt, from, out] = [memory.placeBytes(key), memory.placeBytes(children), memory.allocate(32 * count)];
    kernels.blake3Nodes(keyAt, from, 0, count, out);
    for (let i = 0; i < count; i++) {
      expect(read(out + 32 * i, 32)).toEqual(keyed([...children.slice(64 * i, 64 * i + 64)]));
    }
  });

  it('finds the lowest nonce and says when there is none', () => {
    const seed = pattern(32, 5);
    const [keyAt, at, out] = [memory.placeBytes(key), memory.placeBytes(seed), memory.allocate(4)];
    const search = (begin: number, end: number, bits: number): number => {
      kernels.blake3Grind(keyAt, at, begin, end, bits, out);
      return memory.integers(out, 1)[0]!;
    };
    for (const bits of [0, 1, 6, 11]) {
      const zeros = (nonce: number): boolean =>
        new DataView(keyed([...seed, ...be64(BigInt(nonce))]).buffer).getUint32(0) < 2 ** (32 - bits);
      let nonce = 0;
      while (!zeros(nonce)) nonce++;
      expect(search(0, 2 ** 20, bits)).toBe(nonce);
      expect(search(0, nonce + 1, bits)).toBe(nonce);
      expect(search(0, nonce, bits)).toBe(nonce);
    }
    expect(search(3, 41, 32)).toBe(41);
    expect(search(2 ** 20, 2 ** 20 + 1, 0)).toBe(2 ** 20);
  });
});
