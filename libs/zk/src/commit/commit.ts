/** Committing to matrices: rows, codewords, Merkle tree, out-of-domain value (libs/zk/SPEC.md §2.1). */
import { extAt } from './arrays.js';
import type { BaseArray, CodeRows, CommittingBackend } from './backend.js';
import type { Columns } from './columns.js';
import type { Commitment } from './commitment.js';
import * as F from './field/extension.js';
import type { Ext } from './field/extension.js';
import { LEAF_HEADER } from './hash.js';
import { oodPoints, oodWord } from './layout/ood.js';
import type { TreeLayout } from './layout/tree-layout.js';
import { randomPerRow, type Profile } from './params.js';
import { prfElements, prfPrefix } from './randomness.js';

export interface MerkleTree {
  /** Digests 32 bytes apart, leaves first, root last. */
  readonly levels: readonly Uint8Array[];
  readonly root: Uint8Array;
}

/** Rows with everything needed to open them: their codewords, or where those are too long to keep, what they encode. */
export interface CodedMatrix {
  readonly rows: number;
  /** lg of a row's length, and of how much longer its codeword is. */
  readonly m: number;
  readonly logBlowup: number;
  /** Row-major; random coefficients, and one of the two. */
  readonly random: BaseArray;
  readonly codewords?: BaseArray;
  readonly messages?: BaseArray;
}

/** Codewords of more bytes than this are hashed and dropped. */
const keptCodewordBytes = 2 ** 28;

export interface OpenableTree {
  readonly matrix: CodedMatrix;
  readonly tree: MerkleTree;
  readonly aux?: Uint8Array;
  /** Out-of-domain values of a long-lived tree. */
  readonly ood?: readonly Ext[];
}

export interface OpenableCommitment extends OpenableTree {
  readonly commitment: Commitment;
}

/** A copy outside the backend's memory, for later proofs that open the same commitment. */
export function detached(opened: OpenableCommitment): OpenableCommitment {
  const { matrix, tree, aux, ood, commitment } = opened;
  const copy = {
    matrix: {
      ...matrix,
      random: matrix.random.slice(),
      ...(matrix.codewords ? { codewords: matrix.codewords.slice() } : {}),
      ...(matrix.messages ? { messages: matrix.messages.slice() } : {}),
    },
    tree: { root: tree.root, levels: tree.levels.map((level) => Uint8Array.from(level)) },
  };
  return { ...copy, commitment, ...(ood ? { ood } : {}), ...(aux ? { aux: Uint8Array.from(aux) } : {}) };
}

export function buildTree(backend: CommittingBackend, leaves: Uint8Array, digestBytes: number): MerkleTree {
  const levels = [leaves];
  while (levels.at(-1)!.length > 32) levels.push(backend.hashNodes(levels.at(-1)!, digestBytes));
  return { levels, root: Uint8Array.from(levels.at(-1)!) };
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

/** Codes rows and hashes what stands at each point: the leaves, 32 bytes each. */
export function encodeMatrix(
  backend: CommittingBackend,
  header: number,
  rows: CodeRows,
  code: { readonly m: number; readonly logBlowup: number },
  aux?: Uint8Array,
  bytesMax = keptCodewordBytes,
): { readonly matrix: CodedMatrix; readonly leaves: Uint8Array } {
  const { m, logBlowup } = code;
  const matrix = { rows: rows.rows, m, logBlowup, random: rows.random };
  if (8 * rows.rows * 2 ** (m + logBlowup) > bytesMax) {
    const leaves = backend.hashCodewords(header, rows, m, logBlowup, aux);
    return { matrix: { ...matrix, messages: rows.messages }, leaves };
  }
  const codewords = backend.encodeRows(rows.messages, rows.random, rows.rows, m, logBlowup);
  return { matrix: { ...matrix, codewords }, leaves: backend.hashLeaves(header, codewords, rows.rows, aux) };
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
  jointAux?: Uint8Array,
): OpenableCommitment {
  const messages = layRows(backend, layout, columns, seed, profile.m);
  const random = rowRandomness(backend, seed, layout.rows.length, profile);
  const rows = { messages, random, rows: layout.rows.length };
  const leafCount = 2 ** (profile.m + profile.logBlowup);
  const aux = jointAux ?? (layout.hasAux ? ownAux(backend, seed, rows.rows, leafCount) : undefined);
  const { matrix, leaves } = encodeMatrix(backend, LEAF_HEADER[layout.tree], rows, profile, aux);
  const tree = buildTree(backend, leaves, profile.digestBytes);
  const ood = oodPoints(tree.root, profile.oodPoints).map((z) => oodOf(backend, messages, profile.m, z));
  return { matrix, tree, ...(aux ? { aux } : {}), ood, commitment: { root: tree.root, ood: oodWord(ood) } };
}

/** The symbols of two rows hide a leaf by themselves; those of one do not. */
function ownAux(backend: CommittingBackend, seed: Uint8Array, rows: number, leafCount: number): Uint8Array {
  if (rows < 2) return backend.counterHashes(prfPrefix(seed, 'aux', 0), leafCount);
  const { buffer, byteOffset, byteLength } = backend.base(4 * leafCount);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Σ_k Σ_j row_k[j]·z^{k·2^m + j}. */
export function oodOf(backend: CommittingBackend, messages: BaseArray, m: number, z: Ext): Ext {
  const mark = backend.mark();
  const perRow = backend.bind(messages, backend.powers(z, 2 ** m), 1);
  const step = F.pow(z, 1n << BigInt(m));
  let value = F.ZERO;
  for (let k = perRow.length / 2 - 1; k >= 0; k--) value = F.add(F.mul(value, step), extAt(perRow, k));
  backend.release(mark);
  return value;
}
