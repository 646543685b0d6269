import { describe, expect, it } from 'vitest';
import * as F from '../field/extension.js';
import { createEngine } from '../kernels/index.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import type { Backend } from './backend.js';

const kernels = new KernelBackend(createEngine({ rowLogMax: 8 }));
const label = new TextEncoder().encode('kernel test');
const sample = (count: number, tag: number): BigUint64Array =>
  plainBackend.randomElements(new Uint8Array([...label, tag]), count).slice();
const point = (n: number): F.Ext[] =>
  Array.from({ length: n }, (_, k) => ({ c0: sample(n + 2, 9)[k]!, c1: BigInt(k + 5) }));
const r = { c0: 12345678901234567n, c1: 987654321987654321n };

/** The same call on both backends, results as plain lists. */
function both<T>(call: (backend: Backend) => T): void {
  const plain = JSON.stringify(call(plainBackend), printable);
  expect(JSON.stringify(call(kernels), printable)).toBe(plain);
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof BigUint64Array || value instanceof Uint8Array ? [...value].map(String) : value;
}

describe('kernels give what bigints give', () => {
  it.each([
    [1, 4, 3, 1],
    [5, 6, 16, 3],
  ])('encodes %i rows and hashes their columns', (rows, m, t, logBlowup) => {
    const [messages, random] = [sample(rows * 2 ** m, 1), sample(rows * t, 2)];
    both((backend) => backend.encodeRows(messages, random, rows, m, logBlowup));
    const aux = plainBackend.counterHashes(label, 2 ** m);
    both((backend) => backend.hashLeaves(0x5701, messages, rows, aux));
    both((backend) => backend.hashLeaves(0x5301, messages, rows, undefined));
    both((backend) => backend.hashNodes(aux, 32));
    both((backend) => backend.hashNodes(aux, 26));
  });

  it('draws the same randomness and nonces', () => {
    both((backend) => backend.counterHashes(label, 5));
    both((backend) => backend.randomElements(label, 11));
    both((backend) => backend.grind(new Uint8Array(32).fill(7), 9));
  });

  it.each([1, 2, 5, 13])('runs rounds over 2^%i pairs', (n) => {
    const half = 2 ** n;
    const [f, g, h, k] = [1, 2, 3, 4].map((tag) => sample(4 * half, tag)) as [
      BigUint64Array,
      BigUint64Array,
      BigUint64Array,
      BigUint64Array,
    ];
    const base = sample(2 * half, 5);
    const rest = point(n);
    both((backend) => backend.productRound(rest, f, g));
    both((backend) => backend.productRound(undefined, f, g));
    both((backend) => backend.mixedRound(f, base));
    both((backend) => backend.fractionRound(rest, f, g, h, k));
    both((backend) => backend.fold(f.slice(), r));
    both((backend) => backend.foldBase(base, r));
    both((backend) => backend.fractionLayer(f, g));
    both((backend) => backend.leafLayer(base, g));
    both((backend) => backend.scaledSum(f, g, r));
    both((backend) => backend.leafScaledSum(base, g, r));
  });

  it('combines, binds and weighs', () => {
    const [a, b, w] = [sample(64, 1), sample(24, 2), sample(16, 3)];
    both((backend) => backend.eqTable(point(5), r));
    both((backend) => backend.powers(r, 9));
    both((backend) => backend.outer(a, b));
    both((backend) => backend.dot(a, sample(64, 7)));
    both((backend) => backend.bind(sample(96, 4), w, 3));
    both((backend) => backend.bind(sample(96, 4), w, 1));
    both((backend) => {
      const target = backend.ext(32);
      target.set(a);
      backend.addScaled(target, sample(64, 6), r);
      backend.addPowers(target, 77n, r);
      backend.combine(target.subarray(0, 32), [a.subarray(0, 16), a.subarray(16, 32)], [r, F.X], F.ONE);
      return target;
    });
  });
});
