import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as F from '../field/goldilocks.js';
import { createEngine, type Engine, type Offset, type Task } from './index.js';
import { createPool } from './pool.js';
import { sampleBase } from './reference/samples.js';

describe('worker pool', () => {
  let pool: Engine;
  beforeAll(async () => {
    pool = await createPool({ threads: 2, rowLogMax: 10 });
  });
  afterAll(() => pool.close());

  it('gives the bytes of one thread, over many small runs and one larger than the ring', () => {
    const { memory } = pool;
    const n = 6000;
    const [a, b] = [sampleBase(1, n), sampleBase(2, n)];
    const [atA, atB, out] = [memory.place(a), memory.place(b), memory.allocate(8 * n)];
    const expected = a.map((x, i) => F.mul(x, b[i]!));
    const tasks = a.map((_, i): Task => ['productBase', atA + 8 * i, atB + 8 * i, 1, out + 8 * i]);
    pool.run(tasks);
    expect([...memory.words(out, n)]).toEqual(expected);
    memory.words(out, n).fill(0n);
    for (let i = 0; i < n; i += 5) pool.run(tasks.slice(i, i + 5));
    expect([...memory.words(out, n)]).toEqual(expected);
  });

  it('encodes rows like one thread while the memory grows', () => {
    const [m, logBlowup] = [10, 3];
    const single = createEngine({ rowLogMax: 10 });
    const encode = ({ memory, roots, run }: Engine): bigint[] => {
      const messages = [5, 6, 7].map((seed) => memory.place(sampleBase(seed, 2 ** m)));
      const random = [8, 9, 10].map((seed) => memory.place(sampleBase(seed, 40)));
      memory.allocate(64 * 2 ** 20);
      const codewords = messages.map(() => memory.allocate(8 * 2 ** (m + logBlowup)));
      const tables = [messages, random, codewords].map((list) => memory.placeTable(list));
      const [rows, tails, out] = tables as [Offset, Offset, Offset];
      run(
        [0, 2, 4, 6].map((coset): Task => [
          'encodeRows',
          rows,
          tails,
          40,
          m,
          m + logBlowup,
          0,
          3,
          coset,
          2,
          roots,
          out,
        ]),
      );
      return codewords.flatMap((codeword) => [...memory.words(codeword, 2 ** (m + logBlowup))]);
    };
    expect(encode(pool)).toEqual(encode(single));
  });

  it('searches nonces in order and says when there is none', () => {
    const { memory, kernels } = pool;
    const single = createEngine({ rowLogMax: 4 });
    const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
    const search = ({ memory: where, kernels: k }: Engine, begin: number, end: number, bits: number): number => {
      const out = where.allocate(4);
      k.grind(where.placeBytes(seed), begin, end, bits, out);
      return where.integers(out, 1)[0]!;
    };
    expect(kernels.grind).not.toBe(single.kernels.grind);
    const mark = memory.mark();
    for (const bits of [3, 13, 17]) expect(search(pool, 5, 2 ** 20, bits)).toBe(search(single, 5, 2 ** 20, bits));
    expect(search(pool, 7, 70_001, 40)).toBe(70_001);
    memory.release(mark);
  });

  it('reports a trap of any thread', async () => {
    const broken = await createPool({ threads: 2, rowLogMax: 4 });
    const outside = 2 ** 32 - 64;
    const tasks = new Array<Task>(64).fill(['productBase', outside, outside, 1000, outside]);
    expect(() => broken.run(tasks)).toThrow(/trapped/);
    await broken.close();
  });

  it('refuses thread counts outside 1 … 16', async () => {
    await expect(createPool({ threads: 0 })).rejects.toThrow(RangeError);
    await expect(createPool({ threads: 1.5 })).rejects.toThrow(RangeError);
    const one = await createPool({ threads: 1, rowLogMax: 4 });
    expect(one.threads).toBe(1);
  });
});

describe('memory', () => {
  it('marks, releases, aligns and remembers its peak', () => {
    const { memory } = createEngine({ rowLogMax: 4 });
    const mark = memory.mark();
    const first = memory.allocate(5);
    expect(memory.allocate(1) - first).toBe(16);
    const inner = memory.mark();
    memory.allocate(200_000);
    memory.release(mark);
    expect(memory.peakBytes).toBeGreaterThan(200_000);
    expect(memory.allocate(1)).toBe(first);
    expect(() => memory.release(inner)).toThrow(RangeError);
  });

  it('refuses to grow beyond its limit with a code', () => {
    const { memory } = createEngine({ rowLogMax: 4, memoryBytesMax: 2 ** 20 });
    expect(() => memory.allocate(2 ** 20)).toThrow(expect.objectContaining({ code: 'ZK_MEMORY_EXCEEDED' }));
    expect(() => memory.allocate(2 ** 19)).not.toThrow();
  });
});
