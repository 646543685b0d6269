/**
 * What the challenges behind level 1 are good for, where an opening has more levels (libs/zk/SPEC.md §9.4): with all of
 * them known in advance a false statement is accepted, with these drawn it is not.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { extAt } from '../commit/arrays.js';
import * as F from '../commit/field/extension.js';
import { inversePowerOfTwo } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { levelsOf } from '../relation/levels.js';
import { freezeChallenges, verdict as proofVerdict, verdictsAround, type Forgery } from '../testing/lies.js';
import {
  addPolynomial,
  changeFolded,
  dotPolynomial,
  frozen,
  meanError,
  shiftOpening,
  vanishing,
  wrongLimb,
} from '../testing/opening-lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import type { Site } from '../transcript/sites.js';
import { KernelBackend } from './kernel-backend.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const deeper = [{ k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 1 }];
const segment = testSegment(backend, {
  profile: { ...testProfile, oodPoints: 2, inputsFirst: true, deeper },
  manifest: testManifest({ superblock: 2 }),
});
const { plan, input } = segment;
const { rowVars, profile } = plan;
const [first, second] = levelsOf(profile) as [ReturnType<typeof levelsOf>[0], ReturnType<typeof levelsOf>[0]];

afterEach(() => vi.restoreAllMocks());

const verdict = (forge: Forgery): string => proofVerdict(backend, { plan, input }, new Map(), forge);
const limb = wrongLimb(backend, segment);

const expectMeets = (site: Site): void =>
  expect(verdictsAround(site, () => verdict(limb))).toEqual(['accepted', 'STEP_FINAL_CHECK', 'STEP_FINAL_CHECK']);

/** Places of messages of the opening: row rounds, u, root and values of level 1, its rounds, those of level 2. */
const values2 = 2 * rowVars + 2 + first.points + 2 * first.rowVars + 1;
const rounds2 = values2 + second.points;
const last = rounds2 + 2 * second.rowVars;

describe('behind level 1, known in advance and drawn', () => {
  it('accepts honest proofs either way', () => {
    const thaw = freezeChallenges();
    expect(verdict(() => undefined)).toBe('accepted');
    thaw();
    expect(verdict(() => undefined)).toBe('accepted');
  });

  it('queries to level 1: another vector at level 2, equal where it is opened', () => {
    const poly = vanishing('queriesLevel', first.queries, first.columnVars, first.logBlowup);
    changeFolded(backend, segment, 1, (vector, weights, given) => {
      const part = F.scale(dotPolynomial(weights, poly), inversePowerOfTwo(first.columnVars));
      addPolynomial(vector, poly, F.mul(meanError(backend, given), F.inverse(part)));
    });
    expectMeets('queriesLevel');
  });

  it.each([0, 1])('β2: value %i outside the domain absorbs any false claim', (point) => {
    shiftOpening(values2 + point, (given) => {
      const error = F.scale(meanError(backend, given), 1n << BigInt(first.columnVars));
      return F.neg(F.mul(error, F.inverse(F.pow(frozen('betaLevel'), BigInt(1 + point)))));
    });
    expectMeets('betaLevel');
  });

  it('a row round of level 2', () => {
    shiftOpening(rounds2, (given) => {
      const away = F.sub(frozen('levelRowRound', first.rowVars), F.HALF);
      return F.neg(F.mul(meanError(backend, given), F.inverse(away)));
    });
    expectMeets('levelRowRound');
  });

  it('queries to level 2: another last vector, equal where it is opened', () => {
    const poly = vanishing('queriesLevel', second.queries, second.columnVars, second.logBlowup, 1);
    changeFolded(backend, segment, 2, (vector, weights, given) => {
      const part = F.scale(dotPolynomial(weights, poly), inversePowerOfTwo(second.columnVars));
      addPolynomial(vector, poly, F.mul(meanError(backend, given), F.inverse(part)));
    });
    expectMeets('queriesLevel');
  });

  it('the last β: another last vector whose openings cancel the claim', () => {
    const opened = vanishing('queriesLevel', second.queries, second.columnVars, second.logBlowup, 1).length - 1;
    changeFolded(backend, segment, 2, (vector, weights, given) => {
      let [power, powers] = [frozen('betaLevel', 1), F.ZERO];
      for (let k = 0; k < opened; k++) {
        powers = F.add(powers, power);
        power = F.mul(power, frozen('betaLevel', 1));
      }
      const part = F.scale(F.add(extAt(weights, 0), powers), inversePowerOfTwo(second.columnVars));
      addPolynomial(vector, [1n], F.mul(meanError(backend, given), F.inverse(part)));
    });
    expectMeets('betaLevel');
  });

  it('a column round', () => {
    shiftOpening(last + 2 ** second.columnVars, (given) => {
      return F.neg(F.mul(meanError(backend, given), F.inverse(F.sub(frozen('columnRound'), F.HALF))));
    });
    expectMeets('columnRound');
  });
});
