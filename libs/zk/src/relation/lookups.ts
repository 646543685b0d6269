/** Places of the looked-up columns and of the three tables in the lookup vector (SPEC §4.3). */
import { log2Ceil } from '../field/multilinear.js';
import type { ClassPiece, Shape } from './shape.js';

const hiddenKinds = ['act', 'l', 'h', 'G', 'lp', 'hp'] as const;
const logitKinds = ['exp', 'yr', 'lL', 'hL', 'Rp', 'pr'] as const;
const rowKinds = ['iota', 'r', 'sr'] as const;
const weightKinds = ['lW', 'hW'] as const;
const biasKinds = ['lb', 'hb'] as const;
const tableKinds = ['TR', 'TA', 'TE'] as const;

/** Every column, in the order that digests number them. */
export const lookupKinds = [
  ...hiddenKinds,
  ...logitKinds,
  ...rowKinds,
  ...weightKinds,
  ...biasKinds,
  ...tableKinds,
] as const;

export type LookupKind = (typeof lookupKinds)[number];

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
  const { stepVars, batchVars, widthVars, layers, pieces, expVars } = shape;
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
      .flatMap(({ layer }) => hiddenKinds.map((kind) => entry(kind, layer, rowVars + widthVars[layer]!))),
    ...pieces.flatMap(({ bits }: ClassPiece, index) => logitKinds.map((kind) => entry(kind, 0, bits + rowVars, index))),
    ...rowKinds.map((kind) => entry(kind, 0, rowVars)),
    ...layers.flatMap(({ layer }) => [
      ...weightKinds.map((kind) => entry(kind, layer, widthVars[layer - 1]! + widthVars[layer]!)),
      ...biasKinds.map((kind) => entry(kind, layer, widthVars[layer]!)),
    ]),
    ...tableKinds.map((kind) => ({ ...entry(kind, 0, kind === 'TE' ? expVars : tableVars), isTable: true })),
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
