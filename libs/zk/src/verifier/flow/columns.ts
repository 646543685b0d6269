/**
 * F2: what every looked-up column is at the leaf point, as a form over committed data and hidden values
 * (libs/zk/SPEC.md §7).
 */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { inversePowerOfTwo } from '../../commit/field/goldilocks.js';
import { bitPoint, suffix, type Point } from '../../commit/field/multilinear.js';
import type { ClassPiece, Shape } from '../../commit/layout/shape.js';
import { tableVars, type LookupBlock } from '../../relation/lookups.js';
import { constant, minus, plus, times, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { activationAt, indexAt, valuesAt } from '../tables.js';
import { columnsOf, numerators, type Half, type LeafClaim } from './lookups.js';
import { classPoint, hiddenPoint, rowPoint, weightPoint } from './tensors.js';

/** Hidden values at the leaf point: products and matrix products that later parts of the flow prove. */
export interface ColumnValues {
  /** Z_l and (M_l ⊙ H_l) for l = 1 … L−1. */
  readonly hiddenZ: readonly LinearForm[];
  readonly maskedH: readonly LinearForm[];
  /** Z_L per class piece. */
  readonly logitZ: readonly LinearForm[];
  /** Softmax: ε ⊙ ι per class piece, and ι ⊙ S. */
  readonly scaledExp: readonly LinearForm[];
  readonly quotient?: LinearForm;
}

/** The fixed class bits of a piece. */
export function fixedBits(shape: Shape, piece: ClassPiece): Point {
  return bitPoint(piece.start / 2 ** piece.bits, shape.widthVars.at(-1)! - piece.bits);
}

export function receiveColumns(protocol: MaskedProtocol): ColumnValues {
  const { layers, pieces, loss } = protocol.plan.shape;
  const isSoftmax = loss === 'softmax-ce';
  const hiddenZ: LinearForm[] = [];
  const maskedH: LinearForm[] = [];
  for (let l = 1; l < layers.length; l++) {
    hiddenZ.push(protocol.receive());
    maskedH.push(protocol.receive());
  }
  const logitZ: LinearForm[] = [];
  const scaledExp: LinearForm[] = [];
  for (let k = 0; k < pieces.length; k++) {
    logitZ.push(protocol.receive());
    if (isSoftmax) scaledExp.push(protocol.receive());
  }
  return { hiddenZ, maskedH, logitZ, scaledExp, ...(isSoftmax ? { quotient: protocol.receive() } : {}) };
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

const power = (bits: number): Ext => F.fromInteger(1n << BigInt(bits));
const integer = (value: number | bigint): LinearForm => constant(F.fromInteger(value));
const shifted = (form: LinearForm, bits: number): LinearForm => times(form, power(bits));

/** Claims on the committed blocks of a plan. */
type Cells = Pick<MaskedProtocol, 'plan' | 'cell'>;

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
      case 'exp':
      case 'yr':
      case 'lL':
      case 'lLu':
      case 'hL':
      case 'Rp':
      case 'pr':
      case 'gL':
      case 'gLs':
      case 'rm':
        return logitColumn(protocol, block, block.kind, point, beta, values);
      case 'iota':
      case 'r':
      case 'sr':
        return rowColumn(protocol, block.kind, point, values);
      case 'lW':
      case 'lWu':
      case 'hW':
      case 'lb':
      case 'lbu':
      case 'hb':
        return borderColumn(protocol, block, block.kind, point);
      case 'TR':
      case 'TA':
      case 'TE':
        return constant(tableColumn(protocol.plan.shape, block.kind, suffix(point, block.vars), beta));
    }
  };
}

/** G as a 16-bit entry, and as one of `bits` bits where it is known to be an integer. */
const asError = (error: LinearForm): LinearForm => plus(error, integer(2 ** 15));
const asNarrowError = (error: LinearForm, bits: number): LinearForm =>
  shifted(plus(error, integer(2 ** (bits - 1))), 16 - bits);

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
      return plus(Y, integer(2 ** 15), activationTail(cell('A'), cell('M'), beta));
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

/** β·A + β²·M + β³: the part of an activation entry after its index. */
function activationTail(A: LinearForm, M: LinearForm, beta: Ext): LinearForm {
  const square = F.square(beta);
  return plus(times(A, beta), times(M, square), constant(F.mul(square, beta)));
}

function logitColumn(
  protocol: Cells,
  block: LookupBlock,
  kind: 'exp' | 'yr' | 'lL' | 'lLu' | 'hL' | 'Rp' | 'pr' | 'gL' | 'gLs' | 'rm',
  point: Point,
  beta: Ext,
  values: ColumnValues,
): LinearForm {
  const { shape } = protocol.plan;
  const piece = shape.pieces[block.piece]!;
  const { step, unit, sample } = classPoint(shape, piece, point, fixedBits(shape, piece));
  const cell = (name: string): LinearForm =>
    protocol.cell('S', name, { point: unit }, { point: step }, { point: sample });
  const logit = (): LinearForm =>
    shape.loss === 'mse' ? cell('YL') : minus(protocol.cell('S', 'mu', { point: step }, { point: sample }), cell('d'));
  const probability = (): LinearForm => {
    const label = protocol.cell('D', 'Y', { point: unit }, { point: step }, { point: sample });
    return plus(cell('GL'), shifted(label, shape.lossFraction));
  };
  const shift = shape.layers.at(-1)!.forwardShift;
  switch (kind) {
    case 'exp': {
      const isSmall = cell('w');
      const index = plus(cell('d'), integer(-(2 ** shape.expVars)), shifted(isSmall, shape.expVars));
      return plus(index, times(cell('eps'), beta), times(isSmall, F.square(F.square(beta))));
    }
    case 'yr':
      return plus(logit(), integer(2 ** 15));
    case 'lL':
    case 'lLu': {
      const rounded = plus(values.logitZ[block.piece]!, constant(power(shift - 1)));
      const rest = plus(shifted(logit(), shift), shifted(cell('hL'), shift - 16));
      return shifted(minus(rounded, rest), kind === 'lL' ? 32 - shift : 0);
    }
    case 'hL':
      return cell('hL');
    case 'Rp':
      return plus(values.scaledExp[block.piece]!, integer(2 ** 15), times(probability(), F.fromInteger(-(2 ** 16))));
    case 'pr':
      return probability();
    case 'gL':
      return asError(cell('GL'));
    case 'gLs':
      return asNarrowError(cell('GL'), shape.errorBits);
    case 'rm': {
      const drop = shape.roundingShift;
      const rounded = plus(logit(), integer(2 ** (drop - 1)));
      return shifted(minus(rounded, shifted(probability(), drop)), 16 - drop);
    }
  }
}

/** ε summed over the real classes at one row: S of libs/step/SPEC.md §5. */
export function expSum(protocol: Cells, step: Point, sample: Point): LinearForm {
  return protocol.cell('S', 'eps', { weights: realClasses(protocol.plan.shape) }, { point: step }, { point: sample });
}

/** 1 for every class below C, 0 for padding. */
export function realClasses(shape: Shape): Ext[] {
  return Array.from({ length: 2 ** shape.widthVars.at(-1)! }, (_, c) => (c < shape.classes ? F.ONE : F.ZERO));
}

function rowColumn(protocol: Cells, kind: 'iota' | 'r' | 'sr', point: Point, values: ColumnValues): LinearForm {
  const { shape } = protocol.plan;
  const { step, sample } = rowPoint(shape, point);
  const remainder = minus(constant(power(shape.reciprocalBits)), values.quotient!);
  switch (kind) {
    case 'iota':
      return plus(protocol.cell('S', 'iota', { point: step }, { point: sample }), integer(-1));
    case 'r':
      return remainder;
    case 'sr':
      return minus(plus(expSum(protocol, step, sample), integer(-1)), remainder);
  }
}

/** Limbs of the weights after the segment. */
function borderColumn(
  protocol: Cells,
  { layer }: LookupBlock,
  kind: 'lW' | 'lWu' | 'hW' | 'lb' | 'lbu' | 'hb',
  point: Point,
): LinearForm {
  const { shape } = protocol.plan;
  const scale = shape.layers[layer - 1]!;
  const { input, output } = weightPoint(shape, layer, point);
  const weightAxes = [{ point: input }, { point: output }];
  const low = (after: LinearForm, high: LinearForm, bits: number): LinearForm =>
    shifted(minus(after, shifted(high, bits - 15)), kind === 'lW' || kind === 'lb' ? 31 - bits : 0);
  switch (kind) {
    case 'lW':
    case 'lWu':
      return low(
        protocol.cell('WT', `W${layer}`, ...weightAxes),
        protocol.cell('S', `hW${layer}`, ...weightAxes),
        scale.weightBits,
      );
    case 'hW':
      return plus(protocol.cell('S', `hW${layer}`, ...weightAxes), integer(2 ** 15));
    case 'lb':
    case 'lbu':
      return low(
        protocol.cell('WT', `b${layer}`, { point: output }),
        protocol.cell('S', `hb${layer}`, { point: output }),
        scale.biasBits,
      );
    case 'hb':
      return plus(protocol.cell('S', `hb${layer}`, { point: output }), integer(2 ** 15));
  }
}

function tableColumn(shape: Shape, kind: 'TR' | 'TA' | 'TE', point: Point, beta: Ext): Ext {
  const index = indexAt(point);
  switch (kind) {
    case 'TR':
      return index;
    case 'TA': {
      if (point.length !== tableVars) throw new RangeError('the activation table has 2^16 entries');
      const { A, M } = activationAt(point, shape.manifest.abits);
      const square = F.square(beta);
      return F.sum([index, F.mul(beta, A), F.mul(square, M), F.mul(square, beta)]);
    }
    case 'TE':
      return F.sum([index, F.mul(beta, valuesAt(shape.expValues, point)), F.square(F.square(beta))]);
  }
}
