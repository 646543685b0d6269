/**
 * What the challenges of the opening, α and the grinding are good for; those of the flow are in frozen-flow.test.ts, the
 * points outside the domain in out-of-domain.test.ts. A frozen challenge comes from a stream that does not depend on the
 * proof.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { extAt } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import { add, inverse, inversePowerOfTwo, mul, sub } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { freezeChallenges, verdict as proofVerdict, verdictsAround, type Forgery } from '../testing/lies.js';
import {
  addPolynomial,
  changeFolded as changeLevel,
  claimError,
  dotPolynomial,
  foldedError as errorOfRows,
  frozen,
  reachInto,
  shiftOpening,
  vanishing,
  wrongLimb,
  type ChangeFolded,
} from '../testing/opening-lies.js';
import { seedOf, testSegment } from '../testing/segments.js';
import { partsOf } from '../testing/structure.js';
import type { Site } from '../transcript/sites.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import type { OpeningInput } from './opening-script.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const segment = testSegment(backend);
const { plan, input } = segment;

afterEach(() => vi.restoreAllMocks());

const verdict = (forge: Forgery): string => proofVerdict(backend, { plan, input }, new Map(), forge);

const limb = wrongLimb(backend, segment);

/** With every challenge known in advance the forgery is accepted; with this one drawn, or all of them, it is not. */
const expectMeets = (site: Site): void =>
  expect(verdictsAround(site, () => verdict(limb))).toEqual(['accepted', 'STEP_FINAL_CHECK', 'STEP_FINAL_CHECK']);

const { rowVars, profile } = plan;
const columns = profile.m - profile.k1;
const mean = inversePowerOfTwo(profile.k1 + 1 + columns);

const foldedError = (given: OpeningInput): F.Ext => errorOfRows(backend, given);
const changeFolded = (change: ChangeFolded): void => changeLevel(backend, segment, 1, change);

/** Of weights and vector in turn. */
const level1Folds = 2 * (profile.k1 + 1);

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
      const error = F.scale(claimError(backend, given), inversePowerOfTwo(plan.vars));
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
      let omega: ExtArray | undefined;
      let row: ExtArray;
      return {
        dot: (a: ExtArray, b: ExtArray) => {
          omega ??= a;
          return backend.dot(a, b);
        },
        ext: (count: number) => {
          const made = backend.ext(count);
          if (count === 2 ** profile.m + profile.randomRows * 2 ** columns) row = made;
          if (count === 2 ** (profile.k1 + 1 + columns) && omega) {
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
      return F.neg(F.mul(error, F.inverse(F.sub(frozen('levelRowRound'), F.HALF))));
    });
    expectMeets('levelRowRound');
  });

  it('queries 1: another folded vector, equal where it is opened', () => {
    const poly = vanishing('queriesLevel', profile.queries1, columns, profile.logBlowup1);
    changeFolded((vector, weights, given) => {
      const error = F.scale(foldedError(given), mean);
      const part = F.scale(dotPolynomial(weights, poly), inversePowerOfTwo(columns));
      addPolynomial(vector, poly, F.mul(error, F.inverse(part)));
    });
    expectMeets('queriesLevel');
  });

  it('β2: another folded vector whose openings cancel the claim', () => {
    const opened = vanishing('queriesLevel', profile.queries1, columns, profile.logBlowup1).length - 1;
    changeFolded((vector, weights, given) => {
      let [power, powers] = [frozen('betaLevel'), F.ZERO];
      for (let k = 0; k < opened; k++) {
        powers = F.add(powers, power);
        power = F.mul(power, frozen('betaLevel'));
      }
      // The constant polynomial 1 is 1 wherever it is opened.
      const part = F.scale(F.add(extAt(weights, 0), powers), inversePowerOfTwo(columns));
      addPolynomial(vector, [1n], F.mul(F.scale(foldedError(given), mean), F.inverse(part)));
    });
    expectMeets('betaLevel');
  });

  it('a column round of level 1', () => {
    shiftOpening(2 * rowVars + 3 + level1Folds + 2 ** columns, (given) => {
      const error = F.scale(foldedError(given), mean);
      return F.neg(F.mul(error, F.inverse(F.sub(frozen('columnRound'), F.HALF))));
    });
    expectMeets('columnRound');
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
