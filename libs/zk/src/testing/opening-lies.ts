/** How tests lie in the opening: messages shifted, arrays reached into, polynomials that vanish where a code is opened. */
import { vi } from 'vitest';
import { extAt, setExt } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import { domainPoint } from '../commit/field/domain.js';
import { extFromDigest } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import { inversePowerOfTwo, mul, sub } from '../commit/field/goldilocks.js';
import type { Backend } from '../prover/backend.js';
import type { SegmentWitness } from '../prover/execute.js';
import { countLookups } from '../prover/multiplicities.js';
import * as opening from '../prover/opening-script.js';
import { levelsOf } from '../relation/levels.js';
import type { Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import { claimValue, freezeChallenges, frozenChallenge } from './lies.js';
import type { TestSegment } from './segments.js';

export const frozen = (site: Site, count = 0): F.Ext => extFromDigest(frozenChallenge(site, count));

/** A change of what a fold leaves: the vector, and the weights that were folded before it. */
export type ChangeFolded = (vector: ExtArray, weights: ExtArray, given: opening.OpeningInput) => void;

/** A limb that is out of range by one high unit; the rounding relation still holds. */
export function wrongLimb(backend: Backend, { plan }: TestSegment): (segment: SegmentWitness) => void {
  return (segment) => {
    segment.witness.get('l1')![0]! += 2 ** (plan.shape.layers[0]!.forwardShift - 16);
    segment.witness.get('h1')![0]! -= 1;
    for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  };
}

/** Shifts message number `place` of the opening. */
export function shiftOpening(place: number, shiftOf: (input: opening.OpeningInput) => F.Ext): void {
  const script = opening.openingScript;
  vi.spyOn(opening, 'openingScript').mockImplementation(function* (given) {
    const shift = shiftOf(given);
    let count = 0;
    for (const message of script(given)) yield count++ === place ? F.add(message, shift) : message;
  });
}

/** Lets the opening run on a backend whose arrays a forger reaches into. */
export function reachInto(change: (given: opening.OpeningInput) => Partial<Backend>): void {
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
export function claimError(backend: Backend, { cells, combined }: opening.OpeningInput): F.Ext {
  return F.sub(combined.target, claimValue(backend, cells, combined));
}

/** The error of the claim behind the row rounds: u + δ·2^m·c against what it is of the committed rows. */
export function foldedError(backend: Backend, given: opening.OpeningInput): F.Ext {
  return F.mul(frozen('delta'), F.scale(claimError(backend, given), inversePowerOfTwo(given.cells.plan.rowVars)));
}

/** The same in the mean form of level 1: what it stays through all levels behind. */
export function meanError(backend: Backend, given: opening.OpeningInput): F.Ext {
  return F.scale(foldedError(backend, given), inversePowerOfTwo(given.cells.plan.profile.m + 1));
}

/** Coefficients of Π (Y − y) over the points of frozen queries, of draw number `place` at their site. */
export function vanishing(
  site: 'queries0' | 'queriesLevel',
  count: number,
  m: number,
  logBlowup: number,
  place = 0,
): bigint[] {
  const thaw = freezeChallenges();
  const transcript = new Transcript();
  for (let k = 0; k < place; k++) transcript.indices(site, count, m + logBlowup);
  const indices = transcript.indices(site, count, m + logBlowup);
  thaw();
  let poly = [1n];
  for (const index of indices) {
    const y = domainPoint(index, m, logBlowup);
    poly = Array.from({ length: poly.length + 1 }, (_, i) => sub(poly[i - 1] ?? 0n, mul(y, poly[i] ?? 0n)));
  }
  return poly;
}

/** Adds factor·poly to coefficients that start at 0. */
export function addPolynomial(target: ExtArray, poly: readonly bigint[], factor: F.Ext): void {
  poly.forEach((coefficient, i) => setExt(target, i, F.add(extAt(target, i), F.scale(factor, coefficient))));
}

export const dotPolynomial = (weights: ExtArray, poly: readonly bigint[]): F.Ext =>
  F.sum(poly.map((coefficient, i) => F.scale(extAt(weights, i), coefficient)));

/** Folds of the row rounds and of the levels up to `level` (from 1): weights and vector in turn. */
function foldsUntil({ plan }: TestSegment, level: number): number {
  const rounds = levelsOf(plan.profile)
    .slice(0, level)
    .reduce((sum, { rowVars }) => sum + rowVars, 0);
  return 2 * (plan.rowVars - opening.rowsTogether(plan)) + 2 * rounds;
}

/** Changes the vector that a level left, before it is sent or committed. */
export function changeFolded(backend: Backend, segment: TestSegment, level: number, change: ChangeFolded): void {
  const end = foldsUntil(segment, level);
  reachInto((given) => {
    let folds = 0;
    let weights: ExtArray;
    return {
      fold: (f: ExtArray, r: F.Ext) => {
        const folded = backend.fold(f, r);
        folds += 1;
        if (folds === end - 1) weights = folded;
        if (folds === end) change(folded, weights, given);
        return folded;
      },
    };
  });
}
