import { describe, expect, it } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { domainPoint } from '../commit/field/domain.js';
import { sampleExt } from '../commit/kernels/reference/samples.js';
import type { Backend } from './backend.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import { addQueries } from './query-weights.js';

const backends: [string, Backend][] = [
  ['bigints', plainBackend],
  ['kernels', new KernelBackend(createEngine({ rowLogMax: 6 }))],
];

describe.each(backends)('weights of queries over %s', (_, backend) => {
  it.each([
    ['few', 5, 1, 3],
    ['many', 5, 1, 40],
    ['many, of four cosets', 3, 2, 60],
    ['many, of short rows', 1, 1, 30],
  ])('of %s points are their powers', (_, m, logBlowup, count) => {
    // Some points come more than once, and one coset may have none.
    const indices = Array.from(
      { length: count },
      (_, k) => (k * k * 5 + (k % 2)) % (2 ** (m + logBlowup) - 2 ** m + 3),
    );
    const factors = sampleExt(3, count);
    const places = 2 ** m + 2 ** (m - 1);
    const expected = plainBackend.ext(places);
    indices.forEach((index, k) => plainBackend.addPowers(expected, domainPoint(index, m, logBlowup), factors[k]!));
    const target = backend.ext(places);
    addQueries(backend, target, { m, logBlowup }, indices, factors);
    expect([...target]).toEqual([...expected]);
  });
});
