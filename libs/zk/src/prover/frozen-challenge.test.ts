/**
 * What the challenges of the opening, α and the grinding are good for; those of the flow are in frozen-flow.test.ts, the
 * points outside the domain in out-of-domain.test.ts. A frozen challenge comes from a stream that does not depend on the
 * proof.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { extAt, setExt } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import { extFromDigest } from '../commit/field/bytes.js';
import { domainPoint } from '../commit/field/domain.js';
import * as F from '../commit/field/extension.js';
import { add, inverse, inversePowerOfTwo, mul, sub } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { freezeChallenges, frozenChallenge, verdict as proofVerdict, type Forgery } from '../testing/lies.js';
import { seedOf, testSegment } from '../testing/segments.js';
import { partsOf } from '../testing/structure.js';
import type { Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import type { Backend } from './backend.js';
import type { SegmentWitness } from './execute.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { countLookups } from './multiplicities.js';
import { omegaVector } from './omega-vector.js';
import * as opening from './opening-script.js';
import { proveSegment } from './prove.js';
import { lifted } from './sumcheck-script.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const { plan, input } = testSegment(backend);

afterEach(() => vi.restoreAllMocks());

const verdict = (forge: Forgery): string => proofVerdict(backend, { plan, input }, new Map(), forge);

/** With every challenge known in advance the forgery is accepted; with this one drawn, or all of them, it is not. */
function expectMeets(site: Site): void {
  let thaw = freezeChallenges();
  expect(verdict(wrongLimb)).toBe('accepted');
  thaw();
  thaw = freezeChallenges(site);
  expect(verdict(wrongLimb)).toBe('STEP_FINAL_CHECK');
  thaw();
  expect(verdict(wrongLimb)).toBe('STEP_FINAL_CHECK');
}

const frozen = (site: Site, count = 0): F.Ext => extFromDigest(frozenChallenge(site, count));

/** A limb that is out of range by one high unit; the rounding relation still holds. */
function wrongLimb(segment: SegmentWitness): void {
  segment.witness.get('l1')![0]! += 2 ** (plan.shape.layers[0]!.forwardShift - 16);
  segment.witness.get('h1')![0]! -= 1;
  for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
}

/** Shifts message number `place` of the opening. */
function shiftOpening(place: number, shiftOf: (input: opening.OpeningInput) => F.Ext): void {
  const script = opening.openingScript;
  vi.spyOn(opening, 'openingScript').mockImplementation(function* (given) {
    const shift = shiftOf(given);
    let count = 0;
    for (const message of script(given)) yield count++ === place ? F.add(message, shift) : message;
  });
}

/** Lets the opening run on a backend whose arrays a forger reaches into. */
function reachInto(change: (given: opening.OpeningInput) => Partial<Backend>): void {
  const script = opening.openingScript;
  vi.spyOn(opening, 'openingScript').mockImplementation(function* (given) {
    const own = change(given);
    const reached = new Proxy(given.cells.backend, {
      get: (target, name) => {
        const found: unknown = own[name as keyof Backend] ?? target[name as keyof Backend];
        return typeof found === 'function' && own[name as keyof Backend] === undefined ? found.bind(target) : found;
      },
    });
    const cells = new Proxy(given.cells, {
      get: (target, name) => {
        if (name === 'backend') return reached;
        const found: unknown = target[name as keyof typeof target];
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });
    yield* script({ ...given, cells });
  });
}

/** By how much the combined claim is wrong: target − ⟨Ω, w⟩. */
function claimError({ cells, combined }: opening.OpeningInput): F.Ext {
  const mark = backend.mark();
  const truth = backend.dot(omegaVector(backend, plan, combined), lifted(backend, cells.global));
  backend.release(mark);
  return F.sub(combined.target, truth);
}

const { rowVars, profile } = plan;
const columns = profile.m - profile.k1;
const mean = inversePowerOfTwo(profile.k1 + 1 + columns);

/** The error of the claim behind the row rounds: u + δ·2^m·c against what it is of the committed rows. */
const foldedError = (given: opening.OpeningInput): F.Ext =>
  F.mul(frozen('delta'), F.scale(claimError(given), inversePowerOfTwo(rowVars)));

/** Coefficients of Π (Y − y) over the points of frozen queries. */
function vanishing(site: 'queries0' | 'queries1', count: number, m: number, logBlowup: number): bigint[] {
  const thaw = freezeChallenges();
  const indices = new Transcript().indices(site, count, m + logBlowup);
  thaw();
  let poly = [1n];
  for (const index of indices) {
    const y = domainPoint(index, m, logBlowup);
    poly = Array.from({ length: poly.length + 1 }, (_, i) => sub(poly[i - 1] ?? 0n, mul(y, poly[i] ?? 0n)));
  }
  return poly;
}

/** Adds factor·poly to coefficients that start at 0. */
function addPolynomial(target: ExtArray, poly: readonly bigint[], factor: F.Ext): void {
  poly.forEach((coefficient, i) => setExt(target, i, F.add(extAt(target, i), F.scale(factor, coefficient))));
}

const dotPolynomial = (weights: ExtArray, poly: readonly bigint[]): F.Ext =>
  F.sum(poly.map((coefficient, i) => F.scale(extAt(weights, i), coefficient)));

/** Folds of the row rounds, then those of level 1: weights and vector in turn, the first vector from the base field. */
const rowFolds = 2 * rowVars - 1;
const level1Folds = 2 * (profile.k1 + 1);

/** Changes the folded vector of level 1 before it is sent. */
function changeFolded(change: (vector: ExtArray, weights: ExtArray, given: opening.OpeningInput) => void): void {
  reachInto((given) => {
    let folds = 0;
    let weights: ExtArray;
    return {
      fold: (f: ExtArray, r: F.Ext) => {
        const folded = backend.fold(f, r);
        folds += 1;
        if (folds === rowFolds + level1Folds - 1) weights = folded;
        if (folds === rowFolds + level1Folds) change(folded, weights, given);
        return folded;
      },
    };
  });
}

describe('known in advance, and drawn', () => {
  it('accepts honest proofs either way', () => {
    const thaw = freezeChallenges();
    expect(verdict(() => undefined)).toBe('accepted');
    thaw();
    expect(verdict(() => undefined)).toBe('accepted');
  });

  it('α: two multiplicities make a wrong lookup vanish', () => {
    vi.spyOn(mask, 'proverKey').mockImplementation((_secret, _statement, _plan, cells) => {
      const counts = cells.block('S', 'mR');
      compensate(counts, frozen('alpha'), wrongEntries(cells.block('S', 'l1')[0]!));
      return seedOf('key');
    });
    expectMeets('alpha');
  });

  it('a row round: its message absorbs any false claim', () => {
    shiftOpening(0, (given) => {
      const error = F.scale(claimError(given), inversePowerOfTwo(plan.vars));
      return F.neg(F.mul(error, F.inverse(F.sub(frozen('rowRound'), F.HALF))));
    });
    expectMeets('rowRound');
  });

  it('δ: u absorbs any false claim', () => {
    shiftOpening(2 * rowVars, (given) => F.neg(foldedError(given)));
    expectMeets('delta');
  });

  it('queries 0: another row, equal where it is opened', () => {
    const poly = vanishing('queries0', profile.queries0, profile.m, profile.logBlowup);
    reachInto((given) => {
      let folds = 0;
      let omega: ExtArray;
      let row: ExtArray;
      return {
        fold: (f: ExtArray, r: F.Ext) => {
          const folded = backend.fold(f, r);
          if (++folds === rowFolds - 1) omega = folded;
          return folded;
        },
        ext: (count: number) => {
          const made = backend.ext(count);
          if (count === 2 ** profile.m + profile.randomRows * 2 ** columns) row = made;
          if (count === 2 ** (profile.k1 + 1 + columns) && folds === rowFolds) {
            addPolynomial(row, poly, F.mul(foldedError(given), F.inverse(dotPolynomial(omega, poly))));
          }
          return made;
        },
      };
    });
    expectMeets('queries0');
  });

  it('β1: the level-1 value absorbs any false claim', () => {
    shiftOpening(2 * rowVars + 2, (given) => F.neg(F.mul(foldedError(given), F.inverse(frozen('beta1')))));
    expectMeets('beta1');
  });

  it('a row round of level 1', () => {
    shiftOpening(2 * rowVars + 3, (given) => {
      const error = F.scale(foldedError(given), mean);
      return F.neg(F.mul(error, F.inverse(F.sub(frozen('level1RowRound'), F.HALF))));
    });
    expectMeets('level1RowRound');
  });

  it('queries 1: another folded vector, equal where it is opened', () => {
    const poly = vanishing('queries1', profile.queries1, columns, profile.logBlowup1);
    changeFolded((vector, weights, given) => {
      const error = F.scale(foldedError(given), mean);
      const part = F.scale(dotPolynomial(weights, poly), inversePowerOfTwo(columns));
      addPolynomial(vector, poly, F.mul(error, F.inverse(part)));
    });
    expectMeets('queries1');
  });

  it('β2: another folded vector whose openings cancel the claim', () => {
    const opened = vanishing('queries1', profile.queries1, columns, profile.logBlowup1).length - 1;
    changeFolded((vector, weights, given) => {
      let [power, powers] = [frozen('beta2'), F.ZERO];
      for (let k = 0; k < opened; k++) {
        powers = F.add(powers, power);
        power = F.mul(power, frozen('beta2'));
      }
      // The constant polynomial 1 is 1 wherever it is opened.
      const part = F.scale(F.add(extAt(weights, 0), powers), inversePowerOfTwo(columns));
      addPolynomial(vector, [1n], F.mul(F.scale(foldedError(given), mean), F.inverse(part)));
    });
    expectMeets('beta2');
  });

  it('a column round of level 1', () => {
    shiftOpening(2 * rowVars + 3 + level1Folds + 2 ** columns, (given) => {
      const error = F.scale(foldedError(given), mean);
      return F.neg(F.mul(error, F.inverse(F.sub(frozen('level1ColumnRound'), F.HALF))));
    });
    expectMeets('level1ColumnRound');
  });

  it('grinding: known seeds make every nonce reusable, drawn ones do not', () => {
    const nonces = (secret: string): string[] => {
      const own = testSegment(backend, { secret });
      const { proof, statement } = proveSegment(backend, own.plan, own.input);
      return partsOf(own.plan, statement, proof)
        .filter(({ kind }) => kind === 'nonce')
        .map(({ offset }) => toHex(proof.subarray(offset, offset + 8)));
    };
    const thaw = freezeChallenges();
    expect(nonces('one')).toEqual(nonces('another'));
    thaw();
    expect(nonces('one')).not.toEqual(nonces('another'));
  });
});

/** The value the range table lacks: the scaled limb. */
function wrongEntries(low: bigint): bigint {
  return low * 2n ** BigInt(32 - plan.shape.layers[0]!.forwardShift);
}

/** Adds x to entry 0 and y to entry 1 so that x/(α − 0) + y/(α − 1) = 1/(α − wrong); x and y in the base field. */
function compensate(counts: BigUint64Array, alpha: F.Ext, wrong: bigint): void {
  const reciprocal = (value: bigint): F.Ext => F.inverse(F.sub(alpha, F.fromInteger(value)));
  const [a, b, c] = [reciprocal(0n), reciprocal(1n), reciprocal(wrong)];
  const determinant = inverse(sub(mul(a.c0, b.c1), mul(b.c0, a.c1)));
  const x = mul(sub(mul(c.c0, b.c1), mul(b.c0, c.c1)), determinant);
  const y = mul(sub(mul(a.c0, c.c1), mul(c.c0, a.c1)), determinant);
  counts[0] = add(counts[0]!, x);
  counts[1] = add(counts[1]!, y);
}
