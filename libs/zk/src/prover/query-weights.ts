/**
 * Weights of queries to a codeword (libs/zk/SPEC.md §9.3): powers of many points of one domain, summed. The points of a
 * coset are roots of unity times a shift, so the sum over one coset is a transform of their factors.
 */
import { rowsOf } from '../commit/commit.js';
import type { Code, ExtArray } from '../commit/backend.js';
import { domainPoint } from '../commit/field/domain.js';
import { reversedBits } from '../commit/field/reversed-bits.js';
import type { Ext } from '../commit/field/extension.js';
import { add, GENERATOR, inverse, mul } from '../commit/field/goldilocks.js';
import { squarings } from '../commit/field/multilinear.js';
import type { Backend } from './backend.js';

/** Queries to a coset from which on a transform takes less than the powers of each. */
const fewestPerCoset = 8;

/** target[x] += Σ_k factors_k·y_k^x over the points y_k at `indices` of the domain; at least 2^m entries. */
export function addQueries(
  backend: Backend,
  target: ExtArray,
  code: Code,
  indices: readonly number[],
  factors: readonly Ext[],
): void {
  const { m, logBlowup } = code;
  if (indices.length < fewestPerCoset * 2 ** logBlowup) {
    indices.forEach((index, k) => backend.addPowers(target, domainPoint(index, m, logBlowup), factors[k]!));
    return;
  }
  for (let coset = 0; coset < 2 ** logBlowup; coset++) {
    const own = [...indices.keys()].filter((k) => Math.floor(indices[k]! / 2 ** m) === coset);
    const mark = backend.mark();
    addCoset(
      backend,
      target,
      code,
      coset,
      own.map((k) => [indices[k]! % 2 ** m, factors[k]!] as const),
    );
    backend.release(mark);
  }
}

function addCoset(
  backend: Backend,
  target: ExtArray,
  code: Code,
  coset: number,
  factors: readonly (readonly [position: number, factor: Ext])[],
): void {
  const { m, logBlowup } = code;
  const messages = rowsOf(backend.base(2 * 2 ** m), 2);
  const unshift = squarings(inverse(GENERATOR), m);
  for (const [position, { c0, c1 }] of factors) {
    const place = reversedBits(position, m);
    const scale = unshift.reduce((scale, power, bit) => ((place >> bit) & 1 ? mul(scale, power) : scale), 1n);
    [c0, c1].forEach((value, part) => {
      messages[part]![place] = add(messages[part]![place]!, mul(value, scale));
    });
  }
  // On the first coset, whose shift is the generator, undone above: the sums of the factors times roots of unity.
  const [real, imaginary] = rowsOf(backend.encodeRows({ messages, random: backend.base(0) }, code, 0, 1), 2);
  backend.addReversed(target, real!, imaginary!, domainPoint(coset * 2 ** m, m, logBlowup));
}
