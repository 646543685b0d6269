/** Places of the looked-up columns and of the three tables in the lookup vector (libs/zk/SPEC.md §4.3). */
import { log2Ceil } from '../commit/layout/log2.js';
import type { ClassPiece, Shape } from '../commit/layout/shape.js';

const hiddenKinds = ['act', 'l', 'h', 'G', 'lp', 'hp'] as const;
const logitKinds = ['exp', 'yr', 'lL', 'hL', 'Rp', 'pr'] as const;
const rowKinds = ['iota', 'r', 'sr'] as const;
const weightKinds = ['lW', 'hW'] as const;
const biasKinds = ['lb', 'hb'] as const;
const tableKinds = ['TR', 'TA', 'TE'] as const;
/** Second lookups of limbs, unscaled, and of errors of less than 16 bits, scaled; the columns of mse. */
const laterKinds = ['lu', 'Gs', 'lpu', 'lLu', 'lWu', 'lbu', 'gL', 'gLs', 'rm'] as const;

/** Every column, in the order that digests number them. */
export const lookupKinds = [
  ...hiddenKinds,
  ...logitKinds,
  ...rowKinds,
  ...weightKinds,
  ...biasKinds,
  ...tableKinds,
  ...laterKinds,
] as const;

type LookupKind = (typeof lookupKinds)[number];

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
  const { stepVars, batchVars, widthVars, layers, pieces, expVars, unscaled, loss } = shape;
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
    ...(loss === 'softmax-ce' ? rowKinds : []).map((kind) => entry(kind, 0, rowVars)),
    ...layers.flatMap(({ layer }) => [
      ...after(weightKinds, 'lW', unscaled[layer - 1]!.weight && 'lWu').map((kind) =>
        entry(kind, layer, widthVars[layer - 1]! + widthVars[layer]!),
      ),
      ...after(biasKinds, 'lb', unscaled[layer - 1]!.bias && 'lbu').map((kind) =>
        entry(kind, layer, widthVars[layer]!),
      ),
    ]),
    ...tableKinds
      .filter((kind) => kind !== 'TE' || loss === 'softmax-ce')
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

function hiddenColumns({ unscaled, errorBits }: Shape, layer: number): readonly LookupKind[] {
  const forward = after(hiddenKinds, 'l', unscaled[layer - 1]!.forward && 'lu');
  const narrow = after(forward, 'G', errorBits < 16 && 'Gs');
  return after(narrow, 'lp', unscaled[layer]!.backward && 'lpu');
}

function logitColumns({ unscaled, errorBits, loss, roundingShift }: Shape): readonly LookupKind[] {
  const second = unscaled.at(-1)!.forward && 'lLu';
  if (loss === 'softmax-ce') return after(logitKinds, 'lL', second);
  const kinds = after<LookupKind>(['yr', 'lL', 'hL', 'gL'], 'lL', second);
  return [...kinds, ...(errorBits < 16 ? (['gLs'] as const) : []), ...(roundingShift > 0 ? (['rm'] as const) : [])];
}

/** The list with `kind` put in after `place`, where there is one. */
function after<T extends LookupKind>(kinds: readonly T[], place: T, kind: LookupKind | false): readonly LookupKind[] {
  if (kind === false) return kinds;
  return kinds.flatMap((known): LookupKind[] => (known === place ? [known, kind] : [known]));
}
