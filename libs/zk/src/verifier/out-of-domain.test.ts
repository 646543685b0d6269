/**
 * What the value outside the domain is good for (libs/zk/SPEC.md §2.1): a word may be near to two polynomials, and a
 * root alone opens to either. A value at a point that follows from the root leaves one; a point known in advance
 * leaves both.
 */
import { describe, expect, it } from 'vitest';
import { equalBytes, toHex } from '#attestation/base';
import { buildTree } from '../commit/commit.js';
import { domainPoint } from '../commit/field/domain.js';
import * as F from '../commit/field/extension.js';
import { hashLeaves, leafHeader } from '../commit/hash.js';
import { oodPoints } from '../commit/layout/ood.js';
import { rootOf } from '../merkle/multiproof.js';
import { plainBackend } from '../prover/plain-backend.js';

const [m, logBlowup] = [2, 2];
const size = 2 ** (m + logBlowup);
const by = { hash: 'keccak', digestBytes: 32 } as const;
type Polynomial = readonly bigint[];

const at = (poly: Polynomial, z: F.Ext): F.Ext =>
  poly.reduceRight((value, coefficient) => F.add(F.mul(value, z), F.fromInteger(coefficient)), F.ZERO);

/** A word that is `first` on one half of the domain and `second` on the other. */
function between(first: Polynomial, second: Polynomial): BigUint64Array {
  return BigUint64Array.from({ length: size }, (_, index) => {
    const y = { c0: domainPoint(index, m, logBlowup), c1: 0n };
    return at(index < size / 2 ? first : second, y).c0;
  });
}

function commit(word: BigUint64Array) {
  return buildTree(plainBackend, plainBackend.hashLeaves(by.hash, leafHeader('S', by.hash), [word]), by);
}

/** A verifier of single leaves: the symbol is the polynomial's and its leaf leads to the root. */
function opensTo(word: BigUint64Array, poly: Polynomial, indices: readonly number[]): boolean {
  const { levels, root } = commit(word);
  return indices.every((index) => {
    const symbol = word[index]!;
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, symbol);
    const [leaf] = hashLeaves(by.hash, 'S', [bytes]);
    const reached = rootOf(new Map([[index, leaf!]]), m + logBlowup, by, (level, sibling) =>
      levels[level]!.subarray(32 * sibling, 32 * sibling + 32),
    );
    const y = { c0: domainPoint(index, m, logBlowup), c1: 0n };
    return equalBytes(reached, root) && at(poly, y).c0 === symbol;
  });
}

const first: Polynomial = [1n, 2n, 3n, 4n];
const second: Polynomial = [9n, 8n, 7n, 6n];
const [low, high] = [
  [0, 3, 7],
  [8, 11, 15],
];

describe('a word between two polynomials', () => {
  it('opens to either by its root', () => {
    const word = between(first, second);
    expect(opensTo(word, first, low!)).toBe(true);
    expect(opensTo(word, second, high!)).toBe(true);
    expect(opensTo(word, first, high!)).toBe(false);
  });

  it('has one value at a point that follows from the root', () => {
    const [z] = oodPoints(commit(between(first, second)).root, 1);
    expect(at(first, z!)).not.toEqual(at(second, z!));
  });

  it('has both polynomials share the value at a point known in advance', () => {
    const z = 123n;
    // first + 5·(Y − z)
    const third = first.map((coefficient, i) =>
      i === 0 ? coefficient - 5n * z : i === 1 ? coefficient + 5n : coefficient,
    );
    const reduced = third.map((coefficient) => F.fromInteger(coefficient).c0);
    const word = between(first, reduced);
    expect(opensTo(word, first, low!) && opensTo(word, reduced, high!)).toBe(true);
    expect(at(first, F.fromInteger(z))).toEqual(at(reduced, F.fromInteger(z)));
    const [drawn, another] = oodPoints(commit(word).root, 2);
    expect(at(first, drawn!)).not.toEqual(at(reduced, drawn!));
    expect(toHex(commit(word).root)).not.toBe(toHex(commit(between(reduced, first)).root));
    expect(drawn).not.toEqual(another);
  });
});
