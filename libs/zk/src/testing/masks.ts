/** What each mask of a proof is there to hide, and provers that draw one mask anew or leave it out. */
import { vi } from 'vitest';
import { toHex } from '#attestation/base';
import * as randomness from '../commit/randomness.js';
import * as mask from '../prover/mask.js';
import type { Plan } from '../relation/plan.js';
import { freezeChallenges } from './lies.js';
import { seedOf } from './segments.js';
import type { ProofPart } from './structure.js';

interface Made {
  readonly proof: Uint8Array;
  readonly parts: readonly ProofPart[];
}

type Hidden = (made: Made) => readonly ProofPart[];

/** Each mask, the label that it is drawn under, and the parts of a proof that it hides. */
export function masksOf({ profile, rowVars, trees }: Plan): readonly (readonly [string, string, Hidden])[] {
  const ofKind =
    (kind: ProofPart['kind']): Hidden =>
    ({ parts }) =>
      parts.filter((part) => part.kind === kind);
  /** Messages in the clear: v_S, A and B of F6, two per row round, u, v_1, two per round of level 1, g, and columns. */
  const clear =
    (first: number, count: number): Hidden =>
    (made) =>
      ofKind('clear')(made).slice(first, first + count);
  const stored = trees.S.rows.length;
  const symbols =
    (first: number, count: number): Hidden =>
    ({ parts }) =>
      parts
        .filter(({ kind, tree }) => kind === 'symbol' && tree === 'S')
        .filter((_, k) => k % (stored + 6) >= first && k % (stored + 6) < first + count);
  return [
    ['the pads', 'pads', ofKind('masked')],
    ['the strip of pads', 'strip', clear(3, 2 * rowVars)],
    ['the mask of the strip', 'strip mask', symbols(stored + 4, 2)],
    ['the mask row', 'H', clear(3 + 2 * rowVars + 2 + 2 * (profile.k1 + 1), 2 ** (profile.m - profile.k1))],
    ['the random coefficients of the mask row', 'H random', symbols(stored, 2)],
    ['the random coefficients of the rows', 'row', symbols(0, stored)],
  ];
}

/**
 * Runs a prover with fixed challenges and one key.
 *
 * @param label of one mask
 * @param seed that this mask is drawn from; absent: zeros
 */
export function withMask<T>(label: string, seed: string | undefined, prove: () => T): T {
  const drawn = randomness.prfElements;
  const spies = [
    ...[vi.spyOn(mask, 'proverKey'), vi.spyOn(mask, 'accuracyKey')].map((spy) => spy.mockReturnValue(seedOf('key'))),
    vi.spyOn(randomness, 'prfElements').mockImplementation((engine, own, name, index, count) => {
      if (name !== label) return drawn(engine, own, name, index, count);
      return seed === undefined ? engine.base(count) : drawn(engine, seedOf(seed), name, index, count);
    }),
  ];
  const thaw = freezeChallenges();
  const made = prove();
  thaw();
  spies.forEach((spy) => spy.mockRestore());
  return made;
}

/** Parts that two proofs have in common, by their bytes. */
export function common(hidden: Hidden, a: Made, b: Made): number {
  const bytes = (made: Made): string[] =>
    hidden(made).map(({ offset, length }) => toHex(made.proof.subarray(offset, offset + length)));
  const other = bytes(b);
  return bytes(a).filter((part, k) => part === other[k]).length;
}
