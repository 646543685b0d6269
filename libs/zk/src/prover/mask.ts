/** The prover's own randomness: pads with their products, special rows (libs/zk/SPEC.md §4.2, §6, §13.5). */
import { concatBytes, taggedDigest, word } from '#attestation/base';
import { manifestDigest } from '#libs/step';
import { extAt, setExt } from '../commit/arrays.js';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import { rowsOf } from '../commit/commit.js';
import { dataDigestOf, weightsDigestOf, type Commitment } from '../commit/commitment.js';
import * as F from '../commit/field/extension.js';
import { proverCodeVersion, randomPerRow } from '../commit/params.js';
import { prfElements } from '../commit/randomness.js';
import type { Plan } from '../relation/plan.js';
import { type StepProofStatement } from '../verifier/statement.js';
import type { Backend } from './backend.js';
import type { Cells } from './cells.js';
import type { MaskRows } from './opening-script.js';

/** Everything of a statement that is fixed before the weights after are committed. */
export type OpenStatement = Omit<StepProofStatement, 'after' | 'outerDigest'> & {
  /** The outer statement's digest as a function of the weightsDigest after the segment. */
  readonly outerDigest: (weightsAfter: Uint8Array) => Uint8Array;
};

/** What exists of the weights after before a proof is begun. */
export interface KnownAfter {
  /** Seed of their commitment. */
  readonly seed?: Uint8Array | undefined;
  /** Separate variant: the commitment itself. */
  readonly commitment?: Commitment | undefined;
}

/**
 * Key of all randomness of one proof: bound to the secret, to every field that is fixed before the commitment, to every
 * commitment that exists by then, and to the witness. The same secret and statement give the same bytes; another witness
 * or statement shares nothing.
 */
export function proverKey(
  secret: Uint8Array,
  statement: OpenStatement,
  plan: Plan,
  cells: Cells,
  { seed, commitment }: KnownAfter,
): Uint8Array {
  const none = new Uint8Array(32);
  return taggedDigest(
    'fxt-zk/prover/1',
    concatBytes(
      secret,
      word(proverCodeVersion),
      statement.outerDigest(new Uint8Array(32)),
      word(statement.index),
      word(statement.recordCount),
      manifestDigest(statement.manifest),
      plan.digest,
      statement.datasetRoot,
      dataDigestOf(statement.data, plan),
      weightsDigestOf(statement.before, plan),
      commitment ? weightsDigestOf(commitment, plan) : none,
      seed ? taggedDigest('fxt-zk/prover/after/1', seed) : none,
      cellsDigest(plan, cells),
    ),
  );
}

/** Of a proof of a statement about a set of records: of all that such a statement is, and of the witness. */
export function accuracyKey(secret: Uint8Array, context: Uint8Array, cells: Cells): Uint8Array {
  return taggedDigest(
    'fxt-zk/accuracy/prover/1',
    concatBytes(secret, word(proverCodeVersion), context, cellsDigest(cells.plan, cells)),
  );
}

/** Merkle root over the columns of the rows of S and WT, while pads and blind cells are still zero. */
function cellsDigest(plan: Plan, cells: Cells): Uint8Array {
  const { backend } = cells;
  const mark = backend.mark();
  const rows = cells.rows('S', 'WT');
  const by = { hash: plan.profile.hash, digestBytes: 32 };
  let digests = backend.hashLeaves(by.hash, 0, rows);
  while (digests.length > 32) digests = backend.hashNodes(by, digests);
  const root = Uint8Array.from(digests);
  backend.release(mark);
  return root;
}

/** Uniform pads with C_i = A_i·B_i, written into their block. */
export function fillPads(backend: Backend, plan: Plan, cells: Cells, key: Uint8Array): ExtArray {
  const count = 2 ** plan.messages.padVars;
  const slots = 2 ** plan.messages.slotVars;
  const pads = backend.ext(count);
  pads.set(prfElements(backend, key, 'pads', 0, 2 * count));
  for (let i = 0; i < slots; i++) setExt(pads, 2 * slots + i, F.mul(extAt(pads, i), extAt(pads, slots + i)));
  const block = cells.block('S', 'pad');
  for (let i = 0; i < count; i++) {
    block[i] = pads[2 * i]!;
    block[count + i] = pads[2 * i + 1]!;
  }
  return pads;
}

/** The six special rows behind the stored rows of S: their messages and random coefficients, and as extension rows. */
export function maskRows(
  backend: Backend,
  plan: Plan,
  key: Uint8Array,
): { messages: BaseArray[]; random: BaseArray; masks: MaskRows } {
  const { profile } = plan;
  const size = 2 ** profile.m;
  const t = randomPerRow(profile);
  const columns = 2 ** (profile.m - profile.k1);
  const messages = rowsOf(backend.base(6 * size), 6);
  const random = backend.base(6 * t);
  const draw = (target: BaseArray, label: string, part: number, count: number): void => {
    const mark = backend.mark();
    target.set(prfElements(backend, key, label, part, count));
    backend.release(mark);
  };
  for (let part = 0; part < 2; part++) {
    draw(messages[part]!, 'H', part, size);
    draw(random.subarray(part * t, (part + 1) * t), 'H random', part, t);
    draw(messages[2 + part]!, 'strip', part, columns);
    draw(messages[4 + part]!, 'strip mask', part, columns);
  }
  const pair = (real: BaseArray, imaginary: BaseArray, count: number): ExtArray => {
    const out = backend.ext(count);
    for (let i = 0; i < count; i++) {
      out[2 * i] = real[i]!;
      out[2 * i + 1] = imaginary[i]!;
    }
    return out;
  };
  const masks = {
    H: pair(messages[0]!, messages[1]!, size),
    randomH: pair(random, random.subarray(t), t),
    strip: pair(messages[2]!, messages[3]!, columns),
    stripMask: pair(messages[4]!, messages[5]!, columns),
  };
  return { messages, random, masks };
}
