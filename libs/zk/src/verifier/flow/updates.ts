/**
 * F5: the weights inside and after the segment are the weights before minus the exact gradients (libs/zk/SPEC.md §7).
 */
import type { Ext } from '../../commit/field/extension.js';
import { inversePowerOfTwo } from '../../commit/field/goldilocks.js';
import { eqTable, halves, type Point } from '../../commit/field/multilinear.js';
import { minus, powerSum, times, type Axis, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { moved, requireEnd, segmentOf, segmentWeights, updateWeights, weightsBefore } from './borders.js';
import { batchSum, pointwise, type WeightClaim } from './matmuls.js';
import { activation, biasPoint, errorOf, realSamples, weightPoint } from './tensors.js';

interface Term {
  readonly layer: number;
  /** W_0 − W at (input, output): Σ over steps and samples of steps·A·G. */
  readonly claim: LinearForm;
  readonly steps: readonly Ext[];
  readonly input: Axis;
  readonly output: Axis;
}

export function proveUpdates(
  protocol: MaskedProtocol,
  leafPoint: Point,
  weightClaims: readonly WeightClaim[],
  stepSizes: readonly number[],
): void {
  const { shape } = protocol.plan;
  const { stepVars, batchVars, layers } = shape;
  const inner = stepVars === 0 ? [] : weightClaims.map((claim) => innerTerm(protocol, claim, stepSizes));
  const terms = [...inner, ...layers.map(({ layer }) => borderTerm(protocol, layer, leafPoint, stepSizes))];
  for (const { layer } of layers) requireBiases(protocol, layer, leafPoint, stepSizes);
  const gamma = protocol.challenge('gammaUpdates');
  const vars = stepVars + batchVars;
  const mean = { c0: inversePowerOfTwo(vars), c1: 0n };
  const claims = terms.map((term) => times(term.claim, mean));
  const reduced = protocol.sumcheck(halves(vars), powerSum(claims, gamma));
  const step = reduced.point.slice(0, stepVars);
  const sample = { point: reduced.point.slice(stepVars) };
  const real = realSamples(shape);
  const counted: Axis = real ? { weights: pointwise(eqTable(sample.point), real) } : sample;
  const stepTable = eqTable(step);
  const products = terms.map(({ layer, steps, input, output }) => {
    const f = activation(protocol, layer - 1, { weights: pointwise(stepTable, steps) }, input, counted);
    return protocol.multiply(f, errorOf(protocol, layer, { point: step }, output, sample)).xy;
  });
  protocol.require(minus(reduced.claim, powerSum(products, gamma)));
}

/** A hidden weight value inside the segment. */
function innerTerm(protocol: MaskedProtocol, claim: WeightClaim, stepSizes: readonly number[]): Term {
  const { shape } = protocol.plan;
  const { layer, step, input, output, value } = claim;
  return {
    layer,
    claim: minus(weightsBefore(protocol, 'W', layer, segmentOf(shape, step), [input, output]), value),
    steps: updateWeights(shape, step, stepSizes),
    input,
    output,
  };
}

/** The committed weights after a segment. */
function borderTerm(protocol: MaskedProtocol, layer: number, leafPoint: Point, stepSizes: readonly number[]): Term {
  const { shape } = protocol.plan;
  const at = weightPoint(shape, layer, leafPoint);
  const [input, output] = [{ point: at.input }, { point: at.output }];
  requireEnd(protocol, 'W', layer, [input, output]);
  return {
    layer,
    claim: moved(protocol, 'W', layer, at.segment, [input, output]),
    steps: segmentWeights(shape, at.segment, stepSizes),
    input,
    output,
  };
}

function requireBiases(protocol: MaskedProtocol, layer: number, leafPoint: Point, stepSizes: readonly number[]): void {
  const { shape } = protocol.plan;
  const at = biasPoint(shape, layer, leafPoint);
  const unit = { point: at.output };
  requireEnd(protocol, 'b', layer, [unit]);
  const steps = { weights: segmentWeights(shape, at.segment, stepSizes) };
  protocol.require(minus(moved(protocol, 'b', layer, at.segment, [unit]), batchSum(protocol, layer, steps, unit)));
}
