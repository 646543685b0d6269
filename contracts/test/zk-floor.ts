/**
 * The rows of contracts/src/verifiers/zk/ZkFloor.sol, from the soundness that TypeScript computes
 * (libs/zk/SPEC.md §12).
 */
import { profiles, type Profile } from '../../libs/zk/src/commit/params.js';
import { soundness, soundnessBitsMin, type ShapeCounts } from '../../libs/zk/src/soundness.js';

/** Bits of the weakest round of a profile at a shape that is small but for what is named. */
export function weakestBits(profile: Profile, more: Partial<ShapeCounts>): number {
  const smallest = { lookupVars: 16, globalVars: profile.m, rowsPerTree: [1], constraints: 1, maskedRounds: 1 };
  return soundness(profile, { ...smallest, batchedTerms: 1, productVars: 1, ...more }).minBits;
}

function most(from: number, holds: (value: number) => boolean): number {
  let value = from;
  while (value < 255 && holds(value + 1)) value++;
  return value;
}

/**
 * Profiles that the contract verifies, one row each, a byte a column: those of one level with one point and those of
 * two or three levels. Digests of 26 bytes or several segments under another name are no row of their own.
 */
export const floors = [...profiles.values()]
  .filter(
    ({ extensionDegree, hash, oodPoints, digestBytes, deeper }) =>
      extensionDegree === 2 && hash === 'keccak' && (deeper ? true : oodPoints === 1 && digestBytes === 32),
  )
  .sort((a, b) => (a.deeper?.length ?? 0) - (b.deeper?.length ?? 0))
  .map((profile) => {
    const { m, logBlowup, randomRows, k1, logBlowup1, queries0, queries1, grind0, grind1, grindFold, grindFold1 } =
      profile;
    const holds = (more: Partial<ShapeCounts>): boolean => weakestBits(profile, more) >= soundnessBitsMin;
    const varsMax = most(m, (globalVars) => holds({ globalVars }));
    const rowsMax = most(1, (rows) => holds({ rowsPerTree: [rows] }));
    const lookupVarsMax = most(16, (lookupVars) => holds({ lookupVars }));
    return {
      profile,
      row: [
        ...[m, logBlowup, randomRows, k1, logBlowup1, queries0, queries1, grind0, grind1, grindFold, grindFold1],
        ...[varsMax, rowsMax, lookupVarsMax],
        ...(profile.deeper ?? []).flatMap(({ k, logBlowup, queries, grind, grindFold }) => [
          ...[profile.oodPoints, k, logBlowup, queries, grind, grindFold],
        ]),
      ],
    };
  })
  .filter(({ row }, k, all) => all.findIndex((other) => String(other.row) === String(row)) === k);
