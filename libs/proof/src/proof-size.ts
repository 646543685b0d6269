/** How long a proof of a plan is, from its parts in order (libs/zk/SPEC.md §10), and what one transaction carries. */
import { isInTwoParts, levelsOf, planBytes, type Level, type Plan } from '#libs/zk/verifier';
import { transactionBytesMax, transactionProofBytesMax } from './limits.js';

const [element, word, nonce, digest] = [16, 8, 8, 32];
/** Base elements that every opened leaf of S ends in. */
const specialSymbols = 6;

/** Expected bytes: queries that fall together and siblings that are shared make a proof vary by about a percent. */
export function expectedProofBytes({ profile, variant, messages, trees, rowVars }: Plan): number {
  const { m, logBlowup, queries0, oodPoints } = profile;
  const levels = levelsOf(profile);
  const isJoint = variant === 'joint';
  const flow = oodPoints + messages.maskedMessages + 2 * messages.products + 2;
  const known = oodPoints > 1 ? 3 * oodPoints : 0;
  const opened = { S: !isJoint, WT: true, W0: true, D: true };
  const leaf = (['S', 'WT', 'W0', 'D'] as const).reduce((sum, tree) => {
    const { globalRows, hasAux } = trees[tree];
    return sum + word * globalRows.length + (hasAux && !(isJoint && tree === 'WT') ? digest : 0);
  }, word * specialSymbols);
  const paths = Object.values(opened).filter(Boolean).length;
  return Math.round(
    (isJoint ? 0 : digest) +
      element * (flow + known) +
      rowVars * round(profile.grindFold) +
      (element + nonceOf(profile.grindFold)) +
      nonceOf(profile.grind0) +
      distinct(queries0, m + logBlowup) * leaf +
      paths * siblings(queries0, m + logBlowup) * profile.digestBytes +
      levels.reduce((sum, level) => sum + levelBytes(level, profile.digestBytes), 0) +
      2 ** levels.at(-1)!.columnVars * element +
      levels.at(-1)!.columnVars * round(0),
  );
}

/**
 * Of the longest part that a transaction carries. In two parts, rows stand in the first where the second has their leaves; the
 * second has the paths of a witness that has a tree of its own, too.
 */
function expectedPartBytes(plan: Plan): number {
  const { profile, variant } = plan;
  const whole = expectedProofBytes(plan);
  if (!isInTwoParts(profile)) return whole;
  const moved = levelsOf(profile).map((level) => openingBytes(level, profile.digestBytes) - element * level.queries);
  const { queries0, m, logBlowup, digestBytes } = profile;
  const witness = variant === 'separate' ? siblings(queries0, m + logBlowup) * digestBytes : 0;
  return Math.round(moved.reduce((sum, bytes) => sum - bytes, whole - witness));
}

/** Terms, commitments and places of a seal, and what an expected length is short by. */
const aroundBytes = 2_560;
const lengthMargin = 1.02;
const abiWord = 32;

/** Whether mempools carry a seal with the proof, or its longer part. @param rates  entries of the job's schedule */
export function fitsTransaction(plan: Plan, rates: number): boolean {
  const part = expectedPartBytes(plan);
  const { steps, segmentVars } = plan.shape;
  const words = rates + (segmentVars > 0 ? 2 ** segmentVars : 0);
  const whole = lengthMargin * part + planBytes(plan).length + steps + abiWord * words + aroundBytes;
  return part <= transactionProofBytesMax && whole <= transactionBytesMax;
}

function levelBytes(level: Level, digestBytes: number): number {
  const { rowVars, points, grind, grindFold } = level;
  const opening = openingBytes(level, digestBytes);
  return digest + points * element + rowVars * round(grindFold) + nonceOf(grind) + opening;
}

/** Leaves and siblings. */
function openingBytes({ rows, columnVars, logBlowup, queries }: Level, digestBytes: number): number {
  const depth = columnVars + logBlowup;
  return distinct(queries, depth) * element * rows + siblings(queries, depth) * digestBytes;
}

const nonceOf = (grind: number): number => (grind > 0 ? nonce : 0);
const round = (grind: number): number => 2 * element + nonceOf(grind);

/** Expected number of different leaves among `draws` of 2^vars. */
function distinct(draws: number, vars: number): number {
  return 2 ** vars * (1 - (1 - 2 ** -vars) ** draws);
}

/** Expected siblings of a multiproof: per level, the children of the known nodes above that are not known themselves. */
function siblings(draws: number, depth: number): number {
  let count = 0;
  for (let vars = depth; vars > 0; vars--) count += 2 * distinct(draws, vars - 1) - distinct(draws, vars);
  return count;
}
