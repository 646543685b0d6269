/** What a loss adds to the flow: its columns, products and linear facts (libs/zk/SPEC.md §7). */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { eqTable, type Point } from '../../commit/field/multilinear.js';
import type { ClassPiece, Shape } from '../../commit/layout/shape.js';
import type { LookupKind } from '../../relation/kinds.js';
import { batchAxis } from '../flow/superblocks.js';
import { classPoint, rowPoint } from '../flow/tensors.js';
import type { LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';

/** Claims on the committed blocks of a plan. */
export type Cells = Pick<MaskedProtocol, 'plan' | 'cell' | 'superblocks'>;

/** Hidden values of the loss: of every class piece, and of the rows, in the order of `RelatedLoss.hidden`. */
export interface LossValues {
  readonly pieces: readonly (readonly LinearForm[])[];
  readonly rows: readonly LinearForm[];
}

/** What is committed at one (step, sample), and the hidden values there. */
export interface RowPoint {
  readonly shape: Shape;
  readonly hidden: readonly LinearForm[];
  row(name: string): LinearForm;
  /** Of a tensor of classes its sum over the real ones. */
  sum(name: string): LinearForm;
}

/** The same at one (class, step, sample). */
export interface PiecePoint extends RowPoint {
  cell(name: string): LinearForm;
  label(): LinearForm;
  /** Of a tensor of classes its sum over the real ones above this one. */
  above(name: string): LinearForm;
}

/** Two factors whose product is claimed. */
export interface ProductTerm {
  readonly vars: number;
  readonly claim: LinearForm;
  /** The two factors at the final point; undefined where a factor is a hidden value. */
  factors(point: Point): [LinearForm, LinearForm | undefined];
}

export interface VerifiedLoss {
  /** Y_L. */
  logit(at: PiecePoint): LinearForm;
  /** The looked-up value of each column of its own, and the entries of its table. */
  readonly pieceColumns: Partial<Record<LookupKind, (at: PiecePoint, beta: Ext) => LinearForm>>;
  readonly rowColumns: Partial<Record<LookupKind, (at: RowPoint) => LinearForm>>;
  readonly tables: Partial<Record<LookupKind, (shape: Shape, point: Point, beta: Ext) => Ext>>;
  products(protocol: Cells, values: LossValues): readonly ProductTerm[];
  /** Forms that are 0 at the leaf point. */
  facts(protocol: Cells, leafPoint: Point): readonly LinearForm[];
}

export function rowAt(protocol: Cells, point: Point, hidden: readonly LinearForm[] = []): RowPoint {
  const { shape } = protocol.plan;
  const { step, sample } = rowPoint(shape, point);
  const axes = [{ point: step }, { point: sample }];
  return {
    shape,
    hidden,
    row: (name) => protocol.cell('S', name, ...axes),
    sum: (name) => protocol.cell('S', name, { weights: realClasses(shape) }, ...axes),
  };
}

export function pieceAt(
  protocol: Cells,
  piece: ClassPiece,
  point: Point,
  hidden: readonly LinearForm[] = [],
): PiecePoint {
  const { unit, step, sample } = classPoint(protocol.plan.shape, piece, point);
  const axes = [{ point: unit }, { point: step }, { point: sample }];
  return {
    ...rowAt(protocol, point, hidden),
    cell: (name) => protocol.cell('S', name, ...axes),
    above: (name) => protocol.cell('S', name, { weights: classesAbove(protocol.plan.shape, unit) }, ...axes.slice(1)),
    label: () => protocol.cell('D', 'Y', { point: unit }, batchAxis(protocol, { point: step }), { point: sample }),
  };
}

/** Whether a class is above the one at a point, and real, interpolated. */
function classesAbove(shape: Shape, unit: Point): Ext[] {
  let below = F.ZERO;
  return eqTable(unit).map((weight, c) => {
    const above = c < shape.classes ? below : F.ZERO;
    below = F.add(below, weight);
    return above;
  });
}

/** 1 for every class below C, 0 for padding. */
export function realClasses(shape: Shape): Ext[] {
  return Array.from({ length: 2 ** shape.widthVars.at(-1)! }, (_, c) => (c < shape.classes ? F.ONE : F.ZERO));
}
