/** How the blocks of one tree lie in its rows, and the digest that binds this (libs/zk/SPEC.md §2.1, §4.2). */
import { taggedDigest } from '#attestation/base';
import { leafHeader } from '../hash.js';
import { randomPerRow, type Profile } from '../params.js';
import { blockCode, dataBlocks, weightBlocks, type BlockSpec, type DataTree } from './blocks.js';
import type { Shape } from './shape.js';

/** Cells [blockStart, blockStart + length) of a block at [rowStart, rowStart + length) of a row. */
interface Segment {
  readonly block: BlockSpec;
  readonly blockStart: number;
  readonly rowStart: number;
  readonly length: number;
}

type RowLayout = readonly Segment[];

export interface TreeLayout {
  readonly tree: DataTree;
  readonly blocks: readonly BlockSpec[];
  /** Stored rows in order; cells that no segment covers are zero. */
  readonly rows: readonly RowLayout[];
  /** Every leaf ends in 32 more bytes. */
  readonly hasAux: boolean;
}

/** Blocks by size descending, list order among equals. */
export function bySize(blocks: readonly BlockSpec[]): BlockSpec[] {
  return [...blocks].sort((a, b) => b.vars - a.vars);
}

export function treeLayout(tree: DataTree, blocks: readonly BlockSpec[], m: number): TreeLayout {
  const rows = [
    ...bySize(blocks)
      .filter((block) => block.vars >= m)
      .flatMap((block) => ownRows(block, m)),
    ...sharedRows(blocks, m),
  ];
  const hasAux = tree === 'W0' || tree === 'WT' || (tree === 'D' && rows.length < 2);
  return { tree, blocks, rows, hasAux };
}

export function weightLayout(shape: Shape, profile: Profile): TreeLayout {
  return treeLayout('W0', weightBlocks(shape), profile.m);
}

export function dataLayout(shape: Shape, profile: Profile): TreeLayout {
  return treeLayout('D', dataBlocks(shape), profile.m);
}

/** Binds everything that a commitment's bytes depend on besides its cells; 32 bytes. */
export function layoutDigest(layout: TreeLayout, shape: Shape, profile: Profile): Uint8Array {
  const isData = layout.tree === 'D';
  const inputsFirst = isData && shape.inputsFirst;
  const words = [
    leafHeader(layout.tree, profile.hash),
    profile.m,
    profile.logBlowup,
    randomPerRow(profile),
    profile.digestBytes,
    layout.hasAux ? 32 : 0,
    ...counted(shape.manifest.dims),
    ...(isData ? [shape.manifest.superblock, shape.manifest.batch] : []),
    ...layoutWords(layout),
    ...(isData && shape.segmentVars > 0
      ? [profile.oodPoints, inputsFirst ? 1 : 0, shape.steps]
      : [...(profile.oodPoints === 1 && !inputsFirst ? [] : [profile.oodPoints]), ...(inputsFirst ? [1] : [])]),
  ];
  return taggedDigest('fxt-zk/layout/1', wordBytes(words));
}

/** Big-endian words of 32 bits, as many as there are: large trees have more than a call takes arguments. */
export function wordBytes(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 * words.length);
  const view = new DataView(bytes.buffer);
  words.forEach((word, k) => {
    if (word >>> 0 !== word) throw new RangeError(`${word} does not fit in 4 bytes`);
    view.setUint32(4 * k, word);
  });
  return bytes;
}

/** Rows, each with its segments: (block code, start in block, start in row, length). */
export function layoutWords(layout: TreeLayout): number[] {
  const segmentWords = ({ block, blockStart, rowStart, length }: Segment): number[] => [
    blockCode(block),
    blockStart,
    rowStart,
    length,
  ];
  return [layout.rows.length, ...layout.rows.flatMap((row) => [row.length, ...row.flatMap(segmentWords)])];
}

export function counted(values: readonly number[]): number[] {
  return [values.length, ...values];
}

/** The rows of a block of at least 2^m cells, without those that are zero in every honest witness. */
function ownRows(block: BlockSpec, m: number): RowLayout[] {
  const length = 2 ** m;
  const rows: RowLayout[] = [];
  for (let blockStart = 0; blockStart < 2 ** block.vars; blockStart += length) {
    if (!isZeroRow(block, blockStart)) rows.push([{ block, blockStart, rowStart: 0, length }]);
  }
  return rows;
}

/** True when the row that starts at this cell lies wholly beyond the bound of the block's padded dimension. */
function isZeroRow(block: BlockSpec, start: number): boolean {
  if (block.zeroFrom === undefined) return false;
  const { dimension, bound } = block.zeroFrom;
  const below = block.dims.slice(dimension + 1).reduce((sum, bits) => sum + bits, 0);
  return Math.floor(start / 2 ** below) % 2 ** block.dims[dimension]! >= bound;
}

/** Blocks smaller than a row, packed by size descending. */
function sharedRows(blocks: readonly BlockSpec[], m: number): RowLayout[] {
  const rows: Segment[][] = [];
  let offset = 0;
  for (const block of bySize(blocks).filter((candidate) => candidate.vars < m)) {
    const [row, rowStart] = [Math.floor(offset / 2 ** m), offset % 2 ** m];
    (rows[row] ??= []).push({ block, blockStart: 0, rowStart, length: 2 ** block.vars });
    offset += 2 ** block.vars;
  }
  return rows;
}
