/** The trees of one proof: those that exist, made again from what opens them, and that of the witness (libs/zk/SPEC.md §2.1, §4.2). */
import { Rejection } from '#attestation/base';
import type { BaseArray } from '../commit/backend.js';
import {
  commitRows,
  encodeMatrix,
  rowRandomness,
  type CodedMatrix,
  type OpenableCommitment,
} from '../commit/commit.js';
import type { Commitment } from '../commit/commitment.js';
import { prfElements } from '../commit/randomness.js';
import type { Backend } from './backend.js';
import type { Cells } from './cells.js';
import { maskRows } from './mask.js';
import type { MaskRows } from './opening-script.js';

export function setBlind(cells: Cells, tree: 'D' | 'W0' | 'WT', seed: Uint8Array): void {
  cells.block(tree, 'z').set(prfElements(cells.backend, seed, 'blind', 0, 4));
}

/** A commitment that is still at hand, with the rows that it does not keep, or made again. */
export function openable(
  cells: Cells,
  tree: 'D' | 'W0' | 'WT',
  seed: Uint8Array,
  opened?: OpenableCommitment,
  endings?: Uint8Array,
): OpenableCommitment {
  const { backend, plan } = cells;
  const messages = cells.rows(tree);
  if (opened === undefined) return commitRows(backend, plan.trees[tree], plan.profile, messages, seed, endings);
  return opened.matrix.codewords ? opened : { ...opened, matrix: { ...opened.matrix, messages } };
}

/** The rows of the witness, masked and coded, with the special rows behind them. */
export function codeWitness(cells: Cells, key: Uint8Array): { matrix: CodedMatrix; masks: MaskRows } {
  const { backend, plan } = cells;
  const { profile, trees } = plan;
  const special = maskRows(backend, plan, key);
  const storedRandom = rowRandomness(backend, key, trees.S.rows.length, profile);
  const messages = [...cells.rows('S'), ...special.messages];
  const rows = { messages, random: joined(backend, storedRandom, special.random) };
  return { matrix: encodeMatrix(backend, rows, profile), masks: special.masks };
}

export function requireSame(name: string, made: OpenableCommitment, given: Commitment): void {
  const same = (a: Uint8Array, b: Uint8Array): boolean => a.every((byte, i) => byte === b[i]) && a.length === b.length;
  if (same(made.commitment.root, given.root) && same(made.commitment.ood, given.ood)) return;
  throw new Rejection('STEP_STATEMENT', {
    expected: `the commitment '${name}' of the given values and seed`,
    got: 'another commitment',
    rule: 'libs/zk/SPEC.md §2.1',
  });
}

function joined(backend: Backend, a: BaseArray, b: BaseArray): BaseArray {
  const out = backend.base(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
