/**
 * F2: what every looked-up column is at the leaf point, as a form over committed data and hidden values
 * (libs/zk/SPEC.md §7).
 */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { inversePowerOfTwo } from '../../commit/field/goldilocks.js';
import { suffix, type Point } from '../../commit/field/multilinear.js';
import type { Shape } from '../../commit/layout/shape.js';
import { tableVars, type LookupBlock } from '../../relation/lookups.js';
import { relatedHeads } from '../../relation/heads.js';
import {
  asError,
  asNarrowError,
  constant,
  integer,
  minus,
  plus,
  power,
  shifted,
  times,
  zeroForm,
  type Axis,
  type LinearForm,
} from '../linear-form.js';
import { pieceAt, rowAt } from '../losses/loss.js';
import { verifiedHeads } from '../heads.js';
import type { Cells, LossValues } from '../losses/index.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { activationAt, indexAt } from '../tables.js';
import { columnsOf, numerators, type Half, type LeafClaim } from './lookups.js';
import { weightsAfter } from './borders.js';
import { biasPoint, hiddenPoint, weightPoint } from './tensors.js';

/** Hidden values at the leaf point: products and matrix products that later parts of the flow prove. */
export interface ColumnValues {
  /** Z_l and (M_l ⊙ H_l) for l = 1 … L−1; of a forward pass no second. */
  readonly hiddenZ: readonly LinearForm[];
  readonly maskedH: readonly LinearForm[];
  /** Z_L per class piece. */
  readonly logitZ: readonly LinearForm[];
  readonly loss: LossValues;
}

export function receiveColumns(protocol: MaskedProtocol): ColumnValues {
  const { layers, pieces, loss, isForward } = protocol.plan.shape;
  const { hidden } = relatedHeads[loss];
  const hiddenZ: LinearForm[] = [];
  const maskedH: LinearForm[] = [];
  for (let l = 1; l < layers.length; l++) {
    hiddenZ.push(protocol.receive());
    if (!isForward) maskedH.push(protocol.receive());
  }
  const logits = pieces.map(() => [protocol.receive(), ...hidden.pieces.map(() => protocol.receive())]);
  const ofLoss = { pieces: logits.map((values) => values.slice(1)), rows: hidden.rows.map(() => protocol.receive()) };
  return { hiddenZ, maskedH, logitZ: logits.map(([Z]) => Z!), loss: ofLoss };
}

/** Ties the leaf claim to the columns. */
export function closeLookups(protocol: MaskedProtocol, leaf: LeafClaim, values: ColumnValues): void {
  const { point, claim, lambda, alpha } = leaf;
  const column = columnForms(protocol, leaf, values);
  const denominators = (half: Half): LinearForm => {
    const columns = columnsOf(protocol, half, point);
    const covered = F.sum(columns.map(({ weight }) => weight));
    const parts = columns.map(({ block, weight }) => times(minus(constant(alpha), column(block)), weight));
    return plus(...parts, constant(F.sub(F.ONE, covered)));
  };
  const numerator = ([0, 1] as const).map((half) => numerators(protocol, half, point));
  const side = (half: Half): LinearForm => plus(denominators(half), times(numerator[half]!, lambda));
  const a = protocol.multiply(side(0), side(1));
  if (protocol.plan.lookups.plainLow) {
    protocol.require(minus(claim, a.xy));
    return;
  }
  const n = protocol.multiply(numerator[0], numerator[1]);
  protocol.require(plus(minus(claim, a.xy), times(n.xy, F.square(lambda))));
}

/** The looked-up value f of each column (libs/zk/SPEC.md §7, table of F2). */
export function columnForms(
  protocol: Cells,
  leaf: Pick<LeafClaim, 'point' | 'beta'>,
  values: ColumnValues,
): (block: LookupBlock) => LinearForm {
  const { point, beta } = leaf;
  return (block) => {
    switch (block.kind) {
      case 'act':
      case 'l':
      case 'lu':
      case 'h':
      case 'G':
      case 'Gs':
      case 'lp':
      case 'lpu':
      case 'hp':
        return hiddenColumn(protocol, block, block.kind, point, beta, values);
      case 'yr':
      case 'lL':
      case 'lLu':
      case 'hL':
        return logitColumn(protocol, block, block.kind, point, values);
      case 'lW':
      case 'lWu':
      case 'hW':
      case 'lb':
      case 'lbu':
      case 'hb':
        return borderColumn(protocol, block, block.kind, point);
      case 'TR':
      case 'TA':
        return constant(tableColumn(protocol.plan.shape, block.kind, suffix(point, block.vars), beta));
      case 'exp':
      case 'Rp':
      case 'pr':
      case 'gL':
      case 'gLs':
      case 'rm':
      case 'q':
      case 'vr':
      case 'iota':
      case 'r':
      case 'sr':
      case 'TE':
        return lossColumn(protocol, block, point, beta, values);
    }
  };
}

function hiddenColumn(
  protocol: Cells,
  { layer }: LookupBlock,
  kind: 'act' | 'l' | 'lu' | 'h' | 'G' | 'Gs' | 'lp' | 'lpu' | 'hp',
  point: Point,
  beta: Ext,
  values: ColumnValues,
): LinearForm {
  const { shape } = protocol.plan;
  const { step, unit, sample } = hiddenPoint(shape, layer, point);
  const cell = (name: string): LinearForm =>
    protocol.cell('S', `${name}${layer}`, { point: step }, { point: unit }, { point: sample });
  const forward = shape.layers[layer - 1]!.forwardShift;
  const backward = shape.layers[layer]!.backwardShift!;
  switch (kind) {
    case 'act': {
      const rounded = plus(values.hiddenZ[layer - 1]!, constant(power(forward - 1)));
      const limbs = plus(cell('l'), shifted(cell('h'), forward - 16));
      const Y = times(minus(rounded, limbs), { c0: inversePowerOfTwo(forward), c1: 0n });
      return plus(Y, integer(2 ** 15), activationTail(cell('A'), shape.isForward ? zeroForm : cell('M'), beta));
    }
    case 'l':
      return shifted(cell('l'), 32 - forward);
    case 'lu':
      return cell('l');
    case 'h':
      return cell('h');
    case 'G':
      return asError(cell('G'));
    case 'Gs':
      return asNarrowError(cell('G'), shape.errorBits);
    case 'lp':
    case 'lpu': {
      const rounded = plus(values.maskedH[layer - 1]!, constant(power(backward - 1)));
      const rest = plus(shifted(cell('G'), backward), shifted(cell('hp'), backward - 16));
      return shifted(minus(rounded, rest), kind === 'lp' ? 32 - backward : 0);
    }
    case 'hp':
      return cell('hp');
  }
}

/** β·A + β²·M + β³: the part of an activation entry after its index. Of a forward pass it has no M. */
function activationTail(A: LinearForm, M: LinearForm, beta: Ext): LinearForm {
  const square = F.square(beta);
  return plus(times(A, beta), times(M, square), constant(F.mul(square, beta)));
}

/** Rounding of the logits. */
function logitColumn(
  protocol: Cells,
  block: LookupBlock,
  kind: 'yr' | 'lL' | 'lLu' | 'hL',
  point: Point,
  values: ColumnValues,
): LinearForm {
  const { shape } = protocol.plan;
  const at = pieceAt(protocol, shape.pieces[block.piece]!, point);
  const logit = (): LinearForm => verifiedHeads[shape.loss].logit(at);
  const shift = shape.layers.at(-1)!.forwardShift;
  switch (kind) {
    case 'yr':
      return plus(logit(), integer(2 ** 15));
    case 'lL':
    case 'lLu': {
      const rounded = plus(values.logitZ[block.piece]!, constant(power(shift - 1)));
      const rest = plus(shifted(logit(), shift), shifted(at.cell('hL'), shift - 16));
      return shifted(minus(rounded, rest), kind === 'lL' ? 32 - shift : 0);
    }
    case 'hL':
      return at.cell('hL');
  }
}

function lossColumn(
  protocol: Cells,
  { kind, piece, vars }: LookupBlock,
  point: Point,
  beta: Ext,
  values: ColumnValues,
): LinearForm {
  const { shape } = protocol.plan;
  const { pieceColumns, rowColumns, tables } = verifiedHeads[shape.loss];
  const [ofPiece, ofRow, table] = [pieceColumns[kind], rowColumns[kind], tables[kind]];
  if (ofPiece) return ofPiece(pieceAt(protocol, shape.pieces[piece]!, point, values.loss.pieces[piece]), beta);
  if (ofRow) return ofRow(rowAt(protocol, point, values.loss.rows));
  if (table) return constant(table(shape, suffix(point, vars), beta));
  throw new RangeError(`${shape.loss} has no column ${kind}`);
}

/** Limbs of the weights after every segment. */
function borderColumn(
  protocol: Cells,
  { layer }: LookupBlock,
  kind: 'lW' | 'lWu' | 'hW' | 'lb' | 'lbu' | 'hb',
  point: Point,
): LinearForm {
  const { shape } = protocol.plan;
  const scale = shape.layers[layer - 1]!;
  const at = weightPoint(shape, layer, point);
  const ofBias = biasPoint(shape, layer, point);
  const segment = ({ segment: own }: { segment: Point }): Axis[] => (shape.segmentVars > 0 ? [{ point: own }] : []);
  const weightAxes = [...segment(at), { point: at.input }, { point: at.output }];
  const biasAxes = [...segment(ofBias), { point: ofBias.output }];
  const low = (after: LinearForm, high: LinearForm, bits: number): LinearForm =>
    shifted(minus(after, shifted(high, bits - 15)), kind === 'lW' || kind === 'lb' ? 31 - bits : 0);
  switch (kind) {
    case 'lW':
    case 'lWu':
      return low(
        weightsAfter(protocol, 'W', layer, weightAxes),
        protocol.cell('S', `hW${layer}`, ...weightAxes),
        scale.weightBits,
      );
    case 'hW':
      return plus(protocol.cell('S', `hW${layer}`, ...weightAxes), integer(2 ** 15));
    case 'lb':
    case 'lbu':
      return low(
        weightsAfter(protocol, 'b', layer, biasAxes),
        protocol.cell('S', `hb${layer}`, ...biasAxes),
        scale.biasBits,
      );
    case 'hb':
      return plus(protocol.cell('S', `hb${layer}`, ...biasAxes), integer(2 ** 15));
  }
}

function tableColumn(shape: Shape, kind: 'TR' | 'TA', point: Point, beta: Ext): Ext {
  const index = indexAt(point);
  switch (kind) {
    case 'TR':
      return index;
    case 'TA': {
      if (point.length !== tableVars) throw new RangeError('the activation table has 2^16 entries');
      const { A, M } = activationAt(point, shape.manifest.abits);
      const square = F.square(beta);
      const mask = shape.isForward ? F.ZERO : F.mul(square, M);
      return F.sum([index, F.mul(beta, A), mask, F.mul(square, beta)]);
    }
  }
}
