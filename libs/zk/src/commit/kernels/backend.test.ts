import { afterAll, describe, expect, it } from 'vitest';
import type { Backend } from '../../prover/backend.js';
import { KernelBackend } from '../../prover/kernel-backend.js';
import { plainBackend } from '../../prover/plain-backend.js';
import type { BaseArray, ExtArray } from '../backend.js';
import type { Ext } from '../field/extension.js';
import { createEngine, type Engine } from './index.js';
import { createPool } from './pool.js';
import { sampleBase, sampleExt } from './reference/samples.js';

const base = (seed: number, count: number): BaseArray => BigUint64Array.from(sampleBase(seed, count));
const ext = (seed: number, count: number): ExtArray => base(seed, 2 * count);
const bytes = (seed: number, count: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => (seed * 7 + i * i) % 256);

const engines: Engine[] = [createEngine({ rowLogMax: 8 }), await createPool({ threads: 2, rowLogMax: 8 })];
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

describe.each(engines)('kernels against the plain backend', (engine) => {
  const backend = new KernelBackend(engine);

  function same(call: (target: Backend) => object): void {
    const mark = backend.mark();
    expect(plain(call(backend))).toEqual(plain(call(plainBackend)));
    backend.release(mark);
  }

  /** Arrays as plain lists, wherever they lie. */
  function plain(value: object): unknown {
    if (value instanceof BigUint64Array || value instanceof Uint8Array) return [...value];
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, typeof entry === 'object' ? plain(entry as object) : entry]),
    );
  }

  it('encodes rows', () => {
    for (const m of [1, 2, 5, 8]) {
      const rows = { messages: [1, 2, 3].map((k) => base(k, 2 ** m)), random: base(9, 3 * 2 ** (m - 1)) };
      same((target) => target.encodeRows(rows, { m, logBlowup: 2 }));
      same((target) => target.encodeRows(rows, { m, logBlowup: 3 }, 2, 4));
      same((target) => target.encodeRows(rows, { m, logBlowup: 3 }, 3, 1));
    }
  });

  it('hashes leaves, nodes and counters, draws elements and grinds', () => {
    for (const rows of [1, 20, 300]) {
      const symbols = Array.from({ length: rows }, (_, k) => base(k, 300));
      for (const hash of ['keccak', 'blake3'] as const) {
        same((target) => target.hashLeaves(hash, 0x5301, symbols));
        same((target) => target.hashLeaves(hash, 0x5701, symbols, bytes(3, 32 * 300)));
      }
    }
    for (const count of [1, 2, 3, 400]) {
      same((target) => target.hashNodes({ hash: 'keccak', digestBytes: 26 }, bytes(4, 64 * count)));
      for (const hash of ['keccak', 'blake3'] as const) {
        same((target) => target.hashNodes({ hash, digestBytes: 32 }, bytes(5, 64 * count)));
      }
      same((target) => target.counterHashes(bytes(6, 50), 5, count));
      same((target) => target.randomElements(bytes(6, 50), count));
    }
    for (const hash of ['keccak', 'blake3'] as const) {
      for (const bits of [0, 5, 12, 16]) same((target) => target.grind(hash, bytes(bits, 32), bits));
    }
  });

  it.each([0, 1, 6, 12])('runs layers, rounds and folds of half length 2^%i', (logHalf) => {
    const half = 2 ** logHalf;
    const [a0, a1, b0, b1] = [1, 2, 3, 4].map((seed) => ext(seed, 2 * half)) as [
      ExtArray,
      ExtArray,
      ExtArray,
      ExtArray,
    ];
    const counts = base(5, 2 * half);
    const rest = sampleExt(6, logHalf);
    const [r] = sampleExt(7, 1) as [Ext];
    same((target) => target.fractionLayer(a0, a1));
    same((target) => {
      const out = { p: target.ext(half), q: target.ext(half) };
      target.leafLayer(counts, a1, out);
      return out;
    });
    same((target) => target.scaledSum(a0, a1, r));
    same((target) => target.productRound(rest, a0, a1));
    same((target) => target.productRound(undefined, a0, a1));
    same((target) => target.fractionRound(rest, a0, a1, b0, b1));
    same((target) => target.fold(a0, r));
    same((target) => ({ sum: target.dot(a0, a1) }));
    same((target) => target.dots([counts, base(8, 2 * half), counts], a0));
    same((target) => target.dots([counts], a1));
  });

  it('adds multiples and powers in place', () => {
    const [r] = sampleExt(8, 1) as [Ext];
    for (const count of [1, 3, 9000]) {
      same((target) => {
        const sum = target.ext(count);
        target.addScaled(sum, ext(9, count), r);
        target.addPowers(sum, 0xffffffff00000000n, r);
        target.addReversed(sum, base(2, 16), base(3, 16), 0xffffffff00000000n);
        target.combine(sum.subarray(0, 2), [base(1, 1), base(2, 1)], [r, r], r);
        return sum;
      });
      same((target) => target.powers(r, count));
    }
  });

  it('makes eq tables and outer products', () => {
    for (const n of [0, 1, 5, 12, 14]) same((target) => target.eqTable(sampleExt(n, n), { c0: 3n, c1: 1n }));
    same((target) => target.outer(ext(1, 300), ext(2, 7)));
    same((target) => target.outer(ext(1, 301), ext(2, 40)));
    same((target) => target.outer(ext(1, 1), ext(2, 1)));
    for (const values of [
      [0, 1, 2.5, -1, 6, 7, 8],
      [1e18, -1e18, 3, 3, -0],
    ]) {
      same((target) => {
        const table = new Float64Array(8);
        const column = Float64Array.from(values);
        target.countSums(table, [{ coefficient: 1, column }], 0);
        const twice = { coefficient: -0.5, column };
        target.countSums(table, [{ coefficient: 1.5, column }, twice], 1);
        return { counts: BigUint64Array.from([...table].map(BigInt)) };
      });
    }
    for (const [rows, columns, terms] of [
      [1, 1, 1],
      [5, 7, 3],
      [40, 300, 2],
      [3, 2, 70],
    ] as const) {
      same((target) => {
        const out = target.ext(rows * columns);
        out.set(ext(9, rows * columns));
        const list = Array.from({ length: terms }, (_, k) => ({ a: ext(2 * k, rows), b: ext(2 * k + 1, columns) }));
        target.addTensors(out, list);
        return out;
      });
    }
  });

  it.each([
    [1, 5000, 1],
    [7, 3, 1],
    [1, 16, 1000],
    [300, 8, 3],
    [5, 8, 64],
    [301, 40, 1],
    [3, 50, 101],
    [1, 1, 1],
  ])('binds a tensor %i x %i x %i', (outer, middle, inner) => {
    same((target) => target.bind(base(1, outer * middle * inner), ext(2, middle), inner));
  });
});
