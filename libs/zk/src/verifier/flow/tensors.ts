/** The tensors of a step by their meaning, wherever they are committed (libs/zk/SPEC.md §4.1). */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import type { Point } from '../../commit/field/multilinear.js';
import { bitPoint, suffix } from '../../commit/field/multilinear.js';
import type { ClassPiece, Shape } from '../../commit/layout/shape.js';
import type { Axis, LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { batchAxis } from './superblocks.js';

/** A_l[step, unit, sample]; A_0 is the data. */
export function activation(protocol: MaskedProtocol, layer: number, step: Axis, unit: Axis, sample: Axis): LinearForm {
  if (layer > 0) return protocol.cell('S', `A${layer}`, step, unit, sample);
  const batch = batchAxis(protocol, step);
  const { inputsFirst } = protocol.plan.shape;
  return inputsFirst ? protocol.cell('D', 'X', unit, batch, sample) : protocol.cell('D', 'X', batch, unit, sample);
}

/** G_l[step, unit, sample]. */
export function errorOf(protocol: MaskedProtocol, layer: number, step: Axis, unit: Axis, sample: Axis): LinearForm {
  return layer === protocol.plan.shape.layers.length
    ? protocol.cell('S', 'GL', unit, step, sample)
    : protocol.cell('S', `G${layer}`, step, unit, sample);
}

/** 1 for the samples of the batch, 0 for those that fill it up to a power of two; undefined where none do. */
export function realSamples(shape: Shape): readonly Ext[] | undefined {
  const size = 2 ** shape.batchVars;
  if (shape.batch === size) return undefined;
  return Array.from({ length: size }, (_, b) => (b < shape.batch ? F.ONE : F.ZERO));
}

/** A point over (step, unit, sample), or over (class, step, sample) with the class as unit. */
export interface TensorPoint {
  readonly step: Point;
  readonly unit: Point;
  readonly sample: Point;
}

/** The last coordinates of a point as those of a hidden layer's tensor. */
export function hiddenPoint(shape: Shape, layer: number, point: Point): TensorPoint {
  const { stepVars, batchVars, widthVars } = shape;
  const own = suffix(point, stepVars + widthVars[layer]! + batchVars);
  return {
    step: own.slice(0, stepVars),
    unit: own.slice(stepVars, own.length - batchVars),
    sample: suffix(own, batchVars),
  };
}

/** The last coordinates of a point as those of one piece of the classes: its fixed bits, then (class bits, step, sample). */
export function classPoint(shape: Shape, piece: ClassPiece, point: Point): TensorPoint {
  const { stepVars, batchVars, widthVars } = shape;
  const own = suffix(point, piece.bits + stepVars + batchVars);
  const fixed = bitPoint(piece.start / 2 ** piece.bits, widthVars.at(-1)! - piece.bits);
  return {
    unit: [...fixed, ...own.slice(0, piece.bits)],
    step: own.slice(piece.bits, piece.bits + stepVars),
    sample: suffix(own, batchVars),
  };
}

export function rowPoint(shape: Shape, point: Point): { readonly step: Point; readonly sample: Point } {
  const own = suffix(point, shape.stepVars + shape.batchVars);
  return { step: own.slice(0, shape.stepVars), sample: suffix(own, shape.batchVars) };
}

/** A point over (segment, input, output), the segment's coordinates none where there is one. */
interface WeightPoint {
  readonly segment: Point;
  readonly input: Point;
  readonly output: Point;
}

export function weightPoint({ segmentVars, widthVars }: Shape, layer: number, point: Point): WeightPoint {
  const [inputVars, outputVars] = [widthVars[layer - 1]!, widthVars[layer]!];
  const own = suffix(point, segmentVars + inputVars + outputVars);
  return {
    segment: own.slice(0, segmentVars),
    input: own.slice(segmentVars, own.length - outputVars),
    output: suffix(own, outputVars),
  };
}

/** The same over (segment, output). */
export function biasPoint({ segmentVars, widthVars }: Shape, layer: number, point: Point): Omit<WeightPoint, 'input'> {
  const own = suffix(point, segmentVars + widthVars[layer]!);
  return { segment: own.slice(0, segmentVars), output: own.slice(segmentVars) };
}
