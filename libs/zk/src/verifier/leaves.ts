/** Opened leaves and their Merkle paths, in proof order (SPEC §4.4, §10). */
import { Rejection, equalBytes } from '#attestation';
import type { Ext } from '../field/extension.js';
import { LEAF_HEADER, hashLeaf, type TreeName } from '../merkle/hash.js';
import { rootOf } from '../merkle/multiproof.js';
import type { DataTree } from '../relation/blocks.js';
import type { Plan } from '../relation/plan.js';
import type { Keccak } from '../transcript/keccak.js';
import type { ProofSource } from './source.js';

/** Roots of the Merkle trees; S is absent in the joint variant, where WT's root commits to the witness as well. */
export interface TreeRoots {
  readonly W0: Uint8Array;
  readonly WT: Uint8Array;
  readonly D: Uint8Array;
  readonly S?: Uint8Array;
}

export interface OpenedRow {
  readonly data: readonly { readonly globalRow: number; readonly symbol: bigint }[];
  /** H, Π and E at the point. */
  readonly special: readonly [Ext, Ext, Ext];
}

const noAux = new Uint8Array(0);

/** @throws Rejection STEP_MERKLE_W0, STEP_MERKLE_J, STEP_MERKLE_WT, STEP_MERKLE_S, STEP_MERKLE_D */
export function openRows(
  plan: Plan,
  source: ProofSource,
  indices: readonly number[],
  roots: TreeRoots,
  hash: Keccak,
): OpenedRow[] {
  const isJoint = plan.variant === 'joint';
  const hashes: Record<DataTree, Map<number, Uint8Array>> = {
    S: new Map(),
    D: new Map(),
    W0: new Map(),
    WT: new Map(),
  };
  const opened = indices.map((index): OpenedRow => {
    const data: { globalRow: number; symbol: bigint }[] = [];
    const read = (tree: DataTree, extra: number, jointAux?: Uint8Array): { leaf: Uint8Array; symbols: bigint[] } => {
      const { globalRows, hasAux } = plan.trees[tree];
      const symbols = source.symbols(tree, index, globalRows.length + extra);
      globalRows.forEach((globalRow, k) => data.push({ globalRow, symbol: symbols[k]! }));
      const aux = jointAux ?? (hasAux ? source.aux(tree, index) : noAux);
      const leaf = hashLeaf(LEAF_HEADER[tree], symbols, aux, hash);
      hashes[tree].set(index, leaf);
      return { leaf, symbols };
    };
    const witness = read('S', 6);
    read('WT', 0, isJoint ? witness.leaf : undefined);
    read('W0', 0);
    read('D', 0);
    const tail = witness.symbols.slice(-6);
    const pair = (k: number): Ext => ({ c0: tail[k]!, c1: tail[k + 1]! });
    return { data, special: [pair(0), pair(2), pair(4)] };
  });
  const depth = plan.profile.m + plan.profile.logBlowup;
  const check = (tree: DataTree, root: Uint8Array, code: string): void =>
    checkPaths(plan, source, tree, hashes[tree], depth, root, code, hash);
  check('W0', roots.W0, 'STEP_MERKLE_W0');
  check('WT', roots.WT, isJoint ? 'STEP_MERKLE_J' : 'STEP_MERKLE_WT');
  if (!isJoint) check('S', roots.S!, 'STEP_MERKLE_S');
  check('D', roots.D, 'STEP_MERKLE_D');
  return opened;
}

/** @throws Rejection STEP_MERKLE_L1 */
export function openLevel1(
  plan: Plan,
  source: ProofSource,
  indices: readonly number[],
  root: Uint8Array,
  hash: Keccak,
): Ext[][] {
  const { m, k1, logBlowup1, randomRows } = plan.profile;
  const rowCount = 2 ** k1 + randomRows + 1;
  const hashes = new Map<number, Uint8Array>();
  const leaves = indices.map((index) => {
    const symbols = source.symbols('L1', index, 2 * rowCount);
    hashes.set(index, hashLeaf(LEAF_HEADER.L1, symbols, noAux, hash));
    return Array.from({ length: rowCount }, (_, r): Ext => ({ c0: symbols[2 * r]!, c1: symbols[2 * r + 1]! }));
  });
  checkPaths(plan, source, 'L1', hashes, m - k1 + logBlowup1, root, 'STEP_MERKLE_L1', hash);
  return leaves;
}

function checkPaths(
  plan: Plan,
  source: ProofSource,
  tree: TreeName,
  leaves: ReadonlyMap<number, Uint8Array>,
  depth: number,
  root: Uint8Array,
  code: string,
  hash: Keccak,
): void {
  const { digestBytes } = plan.profile;
  const reached = rootOf(
    leaves,
    depth,
    digestBytes,
    (level, index) => source.sibling(tree, level, index, digestBytes),
    hash,
  );
  if (equalBytes(reached, root)) return;
  throw new Rejection(code, {
    expected: 'leaves and siblings that lead to the committed root',
    got: 'another root',
    rule: 'step-proof §11',
  });
}
