/** Places of the looked-up columns and of the three tables in the lookup vector (libs/zk/SPEC.md §4.3). */
import { log2Ceil } from '../commit/layout/log2.js';
import type { ClassPiece, Shape } from '../commit/layout/shape.js';
import { biasKinds, forwardKinds, hiddenKinds, tableKinds, weightKinds, type LookupKind } from './kinds.js';
import { relatedHeads } from './heads.js';

export interface LookupBlock {
  readonly kind: LookupKind;
  /** 0 where the column belongs to no layer. */
  readonly layer: number;
  /** Index into the class pieces, for the columns of logits. */
  readonly piece: number;
  readonly vars: number;
  readonly isTable: boolean;
  readonly offset: number;
}

export interface LookupLayout {
  /** By offset. */
  readonly blocks: readonly LookupBlock[];
  /** nL: the vector has 2^vars entries; the tail has numerator 0 and denominator 1. */
  readonly vars: number;
  /** No table and no padding in the lower half: every numerator there is 1. */
  readonly plainLow: boolean;
}

/** lg of the entries of the range and activation tables. */
export const tableVars = 16;

export function lookupLayout(shape: Shape): LookupLayout {
  const { stepVars, segmentVars, batchVars, widthVars, layers, pieces, expVars, unscaled } = shape;
  const { rowColumns, hasTable } = relatedHeads[shape.loss];
  const entry = (kind: LookupKind, layer: number, vars: number, piece = 0) => ({
    kind,
    layer,
    piece,
    vars,
    isTable: false,
  });
  const rowVars = stepVars + batchVars;
  const list = [
    ...layers
      .slice(0, -1)
      .flatMap(({ layer }) =>
        hiddenColumns(shape, layer).map((kind) => entry(kind, layer, rowVars + widthVars[layer]!)),
      ),
    ...pieces.flatMap(({ bits }: ClassPiece, index) =>
      logitColumns(shape).map((kind) => entry(kind, 0, bits + rowVars, index)),
    ),
    ...rowColumns.map((kind) => entry(kind, 0, rowVars)),
    ...(shape.isForward ? [] : layers).flatMap(({ layer }) => [
      ...after(weightKinds, 'lW', unscaled[layer - 1]!.weight && 'lWu').map((kind) =>
        entry(kind, layer, segmentVars + widthVars[layer - 1]! + widthVars[layer]!),
      ),
      ...after(biasKinds, 'lb', unscaled[layer - 1]!.bias && 'lbu').map((kind) =>
        entry(kind, layer, segmentVars + widthVars[layer]!),
      ),
    ]),
    ...tableKinds
      .filter((kind) => kind !== 'TE' || hasTable)
      .map((kind) => ({ ...entry(kind, 0, kind === 'TE' ? expVars : tableVars), isTable: true })),
  ];
  list.sort((a, b) => b.vars - a.vars || Number(a.isTable) - Number(b.isTable));
  let offset = 0;
  const blocks = list.map((block): LookupBlock => {
    const placed = { ...block, offset };
    offset += 2 ** block.vars;
    return placed;
  });
  const vars = log2Ceil(offset);
  const half = 2 ** (vars - 1);
  return { blocks, vars, plainLow: blocks.every((block) => block.offset >= half || !block.isTable) };
}

function hiddenColumns({ unscaled, errorBits, isForward }: Shape, layer: number): readonly LookupKind[] {
  const isUnscaled = unscaled[layer - 1]!.forward && 'lu';
  if (isForward) return after(forwardKinds, 'l', isUnscaled);
  const forward = after(hiddenKinds, 'l', isUnscaled);
  const narrow = after(forward, 'G', errorBits < 16 && 'Gs');
  return after(narrow, 'lp', unscaled[layer]!.backward && 'lpu');
}

function logitColumns(shape: Shape): readonly LookupKind[] {
  const { first, last } = relatedHeads[shape.loss].pieceColumns(shape);
  return [...first, 'lL', ...(shape.unscaled.at(-1)!.forward ? (['lLu'] as const) : []), ...last];
}

/** The list with `kind` put in after `place`, where there is one. */
function after<T extends LookupKind>(kinds: readonly T[], place: T, kind: LookupKind | false): readonly LookupKind[] {
  if (kind === false) return kinds;
  return kinds.flatMap((known): LookupKind[] => (known === place ? [known, kind] : [known]));
}
