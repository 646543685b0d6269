/** Opened leaves and their Merkle paths, in proof order (libs/zk/SPEC.md §4.4, §10). */
import { Rejection, equalBytes } from '#attestation/base';
import { hashLeaves, type TreeName } from '../commit/hash.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { rootOf } from '../merkle/multiproof.js';
import type { Level } from '../relation/levels.js';
import type { Plan } from '../relation/plan.js';
import type { ProofSource } from './source.js';

/**
 * Roots of the Merkle trees; S is absent in the joint variant, where WT's root commits to the witness as well, WT where
 * weights do not change.
 */
export interface TreeRoots {
  readonly W0: Uint8Array;
  readonly WT?: Uint8Array;
  readonly D: Uint8Array;
  readonly S?: Uint8Array;
}

/** Symbols of opened leaves, big-endian words in stored order, by tree and then by query; S ends in H, Π, E. */
type OpenedRows = Readonly<Record<DataTree, readonly Uint8Array[]>>;

/** Base elements behind the stored rows of S: H, Π and E, two each. */
const specialSymbols = 6;

/** @throws Rejection STEP_MERKLE_W0, STEP_MERKLE_J, STEP_MERKLE_WT, STEP_MERKLE_S, STEP_MERKLE_D */
export function openRows(plan: Plan, source: ProofSource, indices: readonly number[], roots: TreeRoots): OpenedRows {
  const { hash } = plan.profile;
  const isJoint = plan.variant === 'joint';
  const symbols: Record<DataTree, Uint8Array[]> = { S: [], WT: [], W0: [], D: [] };
  const aux: Record<DataTree, Uint8Array[]> = { S: [], WT: [], W0: [], D: [] };
  for (const index of indices) {
    for (const tree of ['S', 'WT', 'W0', 'D'] as const) {
      const { globalRows, hasAux } = plan.trees[tree];
      if (globalRows.length === 0) continue;
      const count = globalRows.length + (tree === 'S' ? specialSymbols : 0);
      symbols[tree].push(source.symbols(tree, index, count));
      if (hasAux && !(isJoint && tree === 'WT')) aux[tree].push(source.aux(tree, index));
    }
  }
  const leavesOf = (tree: DataTree, endings = aux[tree]): Uint8Array[] =>
    hashLeaves(hash, tree, symbols[tree], endings.length > 0 ? endings : undefined);
  const depth = plan.profile.m + plan.profile.logBlowup;
  const check = (tree: DataTree, leaves: readonly Uint8Array[], root: Uint8Array, code: string): void =>
    checkPaths(plan, source, tree, indices, leaves, depth, root, code);
  const witness = leavesOf('S');
  check('W0', leavesOf('W0'), roots.W0, 'STEP_MERKLE_W0');
  if (plan.trees.WT.rows.length > 0) {
    check('WT', leavesOf('WT', isJoint ? witness : aux.WT), roots.WT!, isJoint ? 'STEP_MERKLE_J' : 'STEP_MERKLE_WT');
  }
  if (!isJoint) check('S', witness, roots.S!, 'STEP_MERKLE_S');
  check('D', leavesOf('D'), roots.D, 'STEP_MERKLE_D');
  return symbols;
}

/**
 * @returns symbols of the opened leaves of a level: an extension element per committed row, big-endian
 * @throws Rejection STEP_MERKLE_L1, STEP_MERKLE_L2 …
 */
export function openLevel(
  plan: Plan,
  { tree, rows, columnVars, logBlowup }: Level,
  source: ProofSource,
  indices: readonly number[],
  root: Uint8Array,
): Uint8Array[] {
  const symbols = indices.map((index) => source.symbols(tree, index, 2 * rows));
  const leaves = hashLeaves(plan.profile.hash, tree, symbols);
  checkPaths(plan, source, tree, indices, leaves, columnVars + logBlowup, root, `STEP_MERKLE_${tree}`);
  return symbols;
}

function checkPaths(
  plan: Plan,
  source: ProofSource,
  tree: TreeName,
  indices: readonly number[],
  leaves: readonly Uint8Array[],
  depth: number,
  root: Uint8Array,
  code: string,
): void {
  const { profile } = plan;
  const byIndex = new Map(indices.map((index, k) => [index, leaves[k]!]));
  const reached = rootOf(byIndex, depth, profile, (level, index) =>
    source.sibling(tree, level, index, profile.digestBytes),
  );
  if (!equalBytes(reached, root)) {
    throw new Rejection(code, {
      expected: 'leaves and siblings that lead to the committed root',
      got: 'another root',
      rule: 'libs/zk/SPEC.md §11',
    });
  }
  source.climbed?.({ tree, root, depth, indices, leaves });
}
