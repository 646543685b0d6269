/** Committing to matrices: rows, codewords, Merkle tree, out-of-domain value (libs/zk/SPEC.md §2.1). */
import { extAt } from './arrays.js';
import type { BaseArray, Code, CodeRows, CommittingBackend } from './backend.js';
import type { Columns } from './columns.js';
import type { Commitment } from './commitment.js';
import { endingsOf, type LeafEndings } from './endings.js';
import * as F from './field/extension.js';
import type { Ext } from './field/extension.js';
import { leafHeader, type TreeHash, type TreeName } from './hash.js';
import { oodPoints, oodWord } from './layout/ood.js';
import type { TreeLayout } from './layout/tree-layout.js';
import { randomPerRow, type Profile } from './params.js';
import { prfElements } from './randomness.js';

export interface MerkleTree {
  /** Of the lowest level that was kept, above the leaves. */
  readonly from: number;
  /** Digests 32 bytes apart, from that level to the root. */
  readonly levels: readonly Uint8Array[];
  readonly root: Uint8Array;
}

/** Rows with everything needed to open them: their codewords, or where those were not kept, what they encode. */
export interface CodedMatrix extends Code {
  readonly rows: number;
  /** Row-major. */
  readonly random: BaseArray;
  readonly codewords?: BaseArray;
  /** Not in a detached copy: weights and records give them again. */
  readonly messages?: readonly BaseArray[];
}

/** Longer codewords, by their bytes and by lg of how much longer than their rows, are hashed and dropped. */
export const keptCodewords = { bytes: 2 ** 28, logBlowup: 3 };
/** Lowest levels of a tree that are not kept: an opened leaf's are hashed again, 2^6 leaves at a time. */
const droppedLevels = 6;
/** Fewest leaves that are hashed at a time. */
const leavesAtOnce = 2 ** 14;

export interface OpenableTree {
  readonly matrix: CodedMatrix;
  readonly tree: MerkleTree;
  readonly endings?: LeafEndings;
  /** Out-of-domain values of a long-lived tree. */
  readonly ood?: readonly Ext[];
}

export interface OpenableCommitment extends OpenableTree {
  readonly commitment: Commitment;
}

/** A copy outside the backend's memory, for later proofs that open the same commitment. */
export function detached({ matrix, tree, endings, ood, commitment }: OpenableCommitment): OpenableCommitment {
  const { rows, m, logBlowup, random, codewords } = matrix;
  return {
    matrix: { rows, m, logBlowup, random: random.slice(), ...(codewords && { codewords: codewords.slice() }) },
    tree: { ...tree, levels: tree.levels.map((level) => Uint8Array.from(level)) },
    commitment,
    ...(ood && { ood }),
    ...(endings && { endings }),
  };
}

/** @param digests of the level `from`, where 0 are the leaves */
export function buildTree(backend: CommittingBackend, digests: Uint8Array, by: TreeHash, from = 0): MerkleTree {
  const levels = [digests];
  while (levels.at(-1)!.length > 32) levels.push(backend.hashNodes(by, levels.at(-1)!));
  return { from, levels, root: Uint8Array.from(levels.at(-1)!) };
}

/** Random coefficients of every row, from the seed of the commitment. */
export function rowRandomness(backend: CommittingBackend, seed: Uint8Array, rows: number, profile: Profile): BaseArray {
  const t = randomPerRow(profile);
  const random = backend.base(rows * t);
  for (let row = 0; row < rows; row++) {
    const mark = backend.mark();
    random.set(prfElements(backend, seed, 'row', row, t), row * t);
    backend.release(mark);
  }
  return random;
}

/** Codes rows, or where their codewords are not to be kept puts that off. */
export function encodeMatrix(
  backend: CommittingBackend,
  rows: CodeRows,
  { m, logBlowup }: Code,
  kept = keptCodewords,
): CodedMatrix {
  const count = rows.messages.length;
  const matrix = { rows: count, m, logBlowup, random: rows.random };
  const isKept = logBlowup <= kept.logBlowup && 8 * count * 2 ** (m + logBlowup) <= kept.bytes;
  if (!isKept) return { ...matrix, messages: rows.messages };
  return { ...matrix, codewords: backend.encodeRows(rows, { m, logBlowup }) };
}

/** @param leaves receives the hashes of all leaves, 32 bytes each */
export function hashMatrix(
  backend: CommittingBackend,
  name: TreeName,
  matrix: CodedMatrix,
  by: TreeHash,
  { endings, leaves }: { readonly endings?: LeafEndings | undefined; readonly leaves?: Uint8Array } = {},
): MerkleTree {
  const { m, logBlowup } = matrix;
  const header = leafHeader(name, by.hash);
  const size = 2 ** (m + logBlowup);
  const from = Math.min(droppedLevels, m);
  const count = Math.min(size, Math.max(2 ** m * (matrix.rows > 1 ? 1 : 2), leavesAtOnce));
  const lowest = byteArray(backend, (32 * size) / 2 ** from);
  for (let begin = 0; begin < size; begin += count) {
    const mark = backend.mark();
    const symbols = symbolsBetween(backend, matrix, begin, count);
    let digests = backend.hashLeaves(by.hash, header, symbols, endingsOf(backend, endings, begin, count));
    leaves?.set(digests, 32 * begin);
    for (let level = 0; level < from; level++) digests = backend.hashNodes(by, digests);
    lowest.set(digests, (32 * begin) / 2 ** from);
    backend.release(mark);
  }
  return buildTree(backend, lowest, by, from);
}

/** Symbols of all rows on one coset or on pairs. */
function symbolsBetween(
  backend: CommittingBackend,
  { rows, m, logBlowup, random, codewords, messages }: CodedMatrix,
  begin: number,
  count: number,
): BaseArray[] {
  if (codewords === undefined) {
    const code = { m, logBlowup };
    return rowsOf(backend.encodeRows({ messages: messages!, random }, code, begin / 2 ** m, count / 2 ** m), rows);
  }
  return rowsOf(codewords, rows).map((row) => row.subarray(begin, begin + count));
}

/** The rows of a matrix without gaps, as views. */
export function rowsOf(matrix: BaseArray, rows: number): BaseArray[] {
  const length = matrix.length / rows;
  return Array.from({ length: rows }, (_, row) => matrix.subarray(row * length, (row + 1) * length));
}

function byteArray(backend: CommittingBackend, count: number): Uint8Array {
  const { buffer, byteOffset, byteLength } = backend.base(Math.ceil(count / 8));
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Rows of one tree from integer columns and, for the block z, the seed's blind cells. */
export function layRows(
  backend: CommittingBackend,
  layout: TreeLayout,
  columns: Columns,
  seed: Uint8Array,
  m: number,
): BaseArray {
  const messages = backend.base(layout.rows.length * 2 ** m);
  const blind = prfElements(backend, seed, 'blind', 0, 4);
  layout.rows.forEach((row, k) => {
    for (const { block, blockStart, rowStart, length } of row) {
      const target = messages.subarray(k * 2 ** m + rowStart, k * 2 ** m + rowStart + length);
      if (block.kind === 'z') target.set(blind);
      else backend.setIntegers(target, columns.get(block.name)!.subarray(blockStart, blockStart + length));
    }
  });
  return messages;
}

/** Commits to weights or data: the form an enclave, a data owner and a prover share. */
export function commitColumns(
  backend: CommittingBackend,
  layout: TreeLayout,
  profile: Profile,
  columns: Columns,
  seed: Uint8Array,
  jointEndings?: Uint8Array,
): OpenableCommitment {
  const messages = layRows(backend, layout, columns, seed, profile.m);
  return commitRows(backend, layout, profile, rowsOf(messages, layout.rows.length), seed, jointEndings);
}

/** The same where the rows are laid, blind cells included. */
export function commitRows(
  backend: CommittingBackend,
  layout: TreeLayout,
  profile: Profile,
  messages: readonly BaseArray[],
  seed: Uint8Array,
  jointEndings?: Uint8Array,
): OpenableCommitment {
  const random = rowRandomness(backend, seed, messages.length, profile);
  const endings = jointEndings
    ? { given: jointEndings }
    : layout.hasAux
      ? ownEndings(seed, messages.length)
      : undefined;
  const matrix = encodeMatrix(backend, { messages, random }, profile);
  const tree = hashMatrix(backend, layout.tree, matrix, profile, { endings });
  const ood = oodPoints(tree.root, profile.oodPoints).map((z) => oodOf(backend, messages, z));
  const commitment = { root: tree.root, ood: oodWord(ood) };
  return { matrix, tree, ...(endings && { endings }), ood, commitment };
}

/** The symbols of two rows hide a leaf by themselves; those of one do not. */
function ownEndings(seed: Uint8Array, rows: number): LeafEndings {
  return rows < 2 ? { seed } : 'zeros';
}

/** Σ_k Σ_j row_k[j]·z^{k·length + j}. */
export function oodOf(backend: CommittingBackend, rows: readonly BaseArray[], z: Ext): Ext {
  const { length } = rows[0]!;
  const step = F.pow(z, BigInt(length));
  let value = F.ZERO;
  for (const row of rows.toReversed()) {
    const mark = backend.mark();
    value = F.add(F.mul(value, step), valueAt(backend, row, z));
    backend.release(mark);
  }
  return value;
}

/** Σ_j row[j]·z^j, in two steps so that threads share the first. */
function valueAt(backend: CommittingBackend, row: BaseArray, z: Ext): Ext {
  const inner = Math.min(row.length, 2 ** droppedLevels);
  const powers = backend.powers(z, inner);
  const folded = backend.bind(row, backend.powers(F.pow(z, BigInt(inner)), row.length / inner), inner);
  let value = F.ZERO;
  for (let i = 0; i < inner; i++) value = F.add(value, F.mul(extAt(folded, i), extAt(powers, i)));
  return value;
}
