/**
 * F4: all matrix products of the segment in one sumcheck; the weights inside a segment are virtual
 * (libs/zk/SPEC.md §7).
 */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { inversePowerOfTwo } from '../../commit/field/goldilocks.js';
import { eqTable, halves, suffix, type Point } from '../../commit/field/multilinear.js';
import { minus, plus, powerSum, times, type Axis, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { segmentOf, updateWeights, weightsBefore } from './borders.js';
import type { ColumnValues } from './columns.js';
import type { BackClaim } from './products.js';
import { activation, classPoint, errorOf, hiddenPoint, realSamples, rowPoint } from './tensors.js';

/** A hidden value of the weights of one layer, interpolated over the steps: W_t(input, output) at a point of t. */
export interface WeightClaim {
  readonly layer: number;
  readonly step: Point;
  readonly input: Axis;
  readonly output: Axis;
  readonly value: LinearForm;
}

interface Term {
  readonly layer: number;
  /** Variables: the step's, then those of the contracted index. */
  readonly vars: number;
  /** The sum of the products, not their mean. */
  readonly claim: LinearForm;
  /** Tensor factor at the final point; `steps` weighs its step index. */
  tensor(steps: Axis, contracted: Axis): LinearForm;
  /** Axes of the weight factor at the final point. */
  weightAxes(contracted: Axis): { readonly input: Axis; readonly output: Axis };
  /** The step coordinates of the claim. */
  readonly claimStep: Point;
}

export function proveMatmuls(
  protocol: MaskedProtocol,
  leafPoint: Point,
  values: ColumnValues,
  back: readonly BackClaim[],
  stepSizes: readonly number[],
): WeightClaim[] {
  const { stepVars } = protocol.plan.shape;
  const gamma = protocol.challenge('gammaMatmuls');
  const gammaClass = protocol.challenge('gammaClasses');
  const terms = matmulTerms(protocol, leafPoint, values, back, stepSizes, gammaClass);
  const vars = Math.max(...terms.map((term) => term.vars));
  const means = terms.map((term) => times(term.claim, { c0: inversePowerOfTwo(term.vars), c1: 0n }));
  const reduced = protocol.sumcheck(halves(vars), powerSum(means, gamma));
  const claims: WeightClaim[] = [];
  const products = terms.map((term) => {
    const own = suffix(reduced.point, term.vars);
    const step = own.slice(0, stepVars);
    const contracted = { point: own.slice(stepVars) };
    const steps = { weights: pointwise(eqTable(step), eqTable(term.claimStep)) };
    const axes = term.weightAxes(contracted);
    const start = protocol.cell('W0', `W${term.layer}`, axes.input, axes.output);
    const product = protocol.multiply(term.tensor(steps, contracted), stepVars === 0 ? start : undefined);
    claims.push({ layer: term.layer, step, ...axes, value: product.y });
    return product.xy;
  });
  protocol.require(minus(reduced.claim, powerSum(products, gamma)));
  return claims;
}

/** F_1, F_2, B_2, F_3, B_3 … of libs/zk/SPEC.md §7. */
function matmulTerms(
  protocol: MaskedProtocol,
  leafPoint: Point,
  values: ColumnValues,
  back: readonly BackClaim[],
  stepSizes: readonly number[],
  gammaClass: Ext,
): Term[] {
  const { shape } = protocol.plan;
  return shape.layers.flatMap(({ layer, isLast }) => {
    const forward = isLast
      ? logitTerm(protocol, leafPoint, values, stepSizes, gammaClass)
      : hiddenTerm(protocol, layer, leafPoint, values, stepSizes);
    return layer === 1 || shape.isForward ? [forward] : [forward, backTerm(protocol, layer, back[layer - 2]!)];
  });
}

function hiddenTerm(
  protocol: MaskedProtocol,
  layer: number,
  leafPoint: Point,
  values: ColumnValues,
  stepSizes: readonly number[],
): Term {
  const { step, unit, sample } = hiddenPoint(protocol.plan.shape, layer, leafPoint);
  return forwardTerm(protocol, layer, step, { point: unit }, sample, values.hiddenZ[layer - 1]!, stepSizes);
}

function logitTerm(
  protocol: MaskedProtocol,
  leafPoint: Point,
  values: ColumnValues,
  stepSizes: readonly number[],
  gammaClass: Ext,
): Term {
  const { shape } = protocol.plan;
  const { step, sample } = rowPoint(shape, leafPoint);
  let classWeights = new Array<Ext>(2 ** shape.widthVars.at(-1)!).fill(F.ZERO);
  let power = F.ONE;
  for (const piece of shape.pieces) {
    const { unit } = classPoint(shape, piece, leafPoint);
    const table = eqTable(unit);
    const factor = power;
    classWeights = classWeights.map((weight, c) => F.add(weight, F.mul(factor, table[c]!)));
    power = F.mul(power, gammaClass);
  }
  const Z = powerSum(values.logitZ, gammaClass);
  return forwardTerm(protocol, shape.layers.length, step, { weights: classWeights }, sample, Z, stepSizes);
}

function forwardTerm(
  protocol: MaskedProtocol,
  layer: number,
  step: Point,
  unit: Axis,
  sample: Point,
  Z: LinearForm,
  stepSizes: readonly number[],
): Term {
  const { shape } = protocol.plan;
  const before = weightsBefore(protocol, 'b', layer, segmentOf(shape, step), [unit]);
  const bias = shape.isForward
    ? before
    : minus(before, batchSum(protocol, layer, { weights: updateWeights(shape, step, stepSizes) }, unit));
  const biasScale = F.fromInteger(1n << BigInt(2 * shape.layers[layer - 1]!.aIn));
  return {
    layer,
    vars: shape.stepVars + shape.widthVars[layer - 1]!,
    claim: minus(Z, times(bias, biasScale)),
    claimStep: step,
    tensor: (steps, contracted) => activation(protocol, layer - 1, steps, contracted, { point: sample }),
    weightAxes: (contracted) => ({ input: contracted, output: unit }),
  };
}

function backTerm(protocol: MaskedProtocol, layer: number, claim: BackClaim): Term {
  const { shape } = protocol.plan;
  const { step, unit, sample } = claim.point;
  return {
    layer,
    vars: shape.stepVars + shape.widthVars[layer]!,
    claim: plus(claim.value),
    claimStep: step,
    tensor: (steps, contracted) => errorOf(protocol, layer, steps, contracted, { point: sample }),
    weightAxes: (contracted) => ({ input: { point: unit }, output: contracted }),
  };
}

/** Σ_b of an error over the batch: of a full one, 2^lB times its extension at the centre of the cube. */
export function batchSum(protocol: MaskedProtocol, layer: number, steps: Axis, unit: Axis): LinearForm {
  const { batchVars } = protocol.plan.shape;
  const weights = realSamples(protocol.plan.shape);
  if (weights) return errorOf(protocol, layer, steps, unit, { weights });
  const centre = errorOf(protocol, layer, steps, unit, { point: halves(batchVars) });
  return times(centre, F.fromInteger(2 ** batchVars));
}

export function pointwise(a: readonly Ext[], b: readonly Ext[]): Ext[] {
  return a.map((value, i) => F.mul(value, b[i]!));
}
