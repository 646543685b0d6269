/** One training step over BigInt, straight from fixed-point §4, §5 and §7: the oracle of every faster implementation. */
import { refuse } from './errors.js';
import type { Manifest } from './manifest.js';
import { stepSize } from './manifest.js';
import { mapMatrix, matrix, type Matrix } from './matrix.js';
import { backError } from './ops/back.js';
import { dense } from './ops/dense.js';
import { guard } from './ops/guard.js';
import { mseGradient } from './ops/mse.js';
import { clippedRelu } from './ops/relu.js';
import { softmaxGradient, type SoftmaxTrace } from './ops/softmax-ce.js';
import { descend, gradients } from './ops/update.js';
import type { Examples } from './records.js';
import { layerScales, type LayerScale } from './scale.js';
import { expTable } from './table.js';
import { checkWeights, type Weights } from './weights.js';

export interface LayerTrace {
  /** Input of the layer, [B, n_{l-1}]. */
  readonly A: Matrix;
  readonly Z: Matrix;
  readonly Y: Matrix;
  /** Mask of a hidden layer's output, [B, n_l]. */
  readonly M?: Matrix;
  /** Error of the layer, [B, n_l]. */
  readonly G: Matrix;
  /** G_l·W_lᵀ before rounding, for l ≥ 2. */
  readonly H?: Matrix;
  readonly D: Matrix;
  readonly delta: Matrix;
}

export interface StepTrace {
  /** Weights after the step. */
  readonly weights: Weights;
  /** Layers 1..L. */
  readonly layers: readonly LayerTrace[];
  readonly softmax?: SoftmaxTrace;
}

interface Forward {
  readonly A: Matrix;
  readonly Z: Matrix;
  readonly Y: Matrix;
  readonly M?: Matrix;
}

/**
 * @param batch the examples of one block, count = B
 * @param step  step of the job, for the schedule and for the report of a violation
 * @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE, BATCH_SIZE; GuardViolation GUARD_VIOLATION
 */
export function stepReference(m: Manifest, weights: Weights, batch: Examples, step: number): StepTrace {
  checkWeights(m, weights);
  if (batch.count !== m.batch || batch.features.length !== m.batch * m.dims[0]!) {
    refuse('BATCH_SIZE', `${m.batch} examples`, batch.count, 'fixed-point §4');
  }
  const scales = layerScales(m);
  const passes = forward(m, scales, weights, batch, step);
  const { G: lossGradient, softmax } = lossError(m, passes.at(-1)!.Y, batch.labels, step);
  const layers: LayerTrace[] = [];
  let G = lossGradient;
  for (let i = scales.length - 1; i >= 0; i--) {
    const [scale, pass] = [scales[i]!, passes[i]!];
    const back = i > 0 ? backError(scale, G, weights[2 * i]!.values) : undefined;
    layers.unshift({ ...pass, G, ...(back ? { H: back.H } : {}), ...gradients(scale, pass.A, G) });
    if (back) {
      guardSigned(back.R, m.gbits, `G${scale.layer - 1}`, step);
      const mask = passes[i - 1]!.M!;
      G = mapMatrix(back.R, (value, index) => value * mask.data[index]!);
    }
  }
  return { weights: updated(m, scales, weights, layers, step), layers, ...(softmax ? { softmax } : {}) };
}

function forward(m: Manifest, scales: readonly LayerScale[], weights: Weights, batch: Examples, step: number) {
  const n0 = m.dims[0]!;
  let A = matrix(m.batch, n0, (r, c) => BigInt(batch.features[r * n0 + c]!));
  return scales.map((scale, i): Forward => {
    const input = A;
    const { Z, Y } = dense(scale, input, weights[2 * i]!.values, weights[2 * i + 1]!.values);
    guardSigned(Y, m.ybits, `Y${scale.layer}`, step);
    if (scale.isLast) return { A: input, Z, Y };
    const activation = clippedRelu(Y, m.abits);
    A = activation.A;
    return { A: input, Z, Y, M: activation.M };
  });
}

function lossError(m: Manifest, Y: Matrix, labels: Uint8Array, step: number): { G: Matrix; softmax?: SoftmaxTrace } {
  const [a, g] = [m.a.at(-1)!, m.g.at(-1)!];
  if (m.loss.kind === 'softmax-ce') {
    const softmax = softmaxGradient(m.loss, g, expTable(m.loss.E, a), Y, labels);
    return { G: softmax.G, softmax };
  }
  const G = mseGradient(a, g, Y, labels);
  guardSigned(G, m.gbits, `G${m.dims.length - 1}`, step);
  return { G };
}

function updated(
  m: Manifest,
  scales: readonly LayerScale[],
  weights: Weights,
  layers: readonly LayerTrace[],
  step: number,
): Weights {
  const size = stepSize(m, step);
  return weights.map((tensor, index) => {
    const [scale, layer] = [scales[index >> 1]!, layers[index >> 1]!];
    const isWeight = index % 2 === 0;
    const values = descend(tensor.values, isWeight ? layer.D : layer.delta, size);
    const limit = (1n << BigInt(isWeight ? scale.weightBits : scale.biasBits)) - 1n;
    guard(values, -limit, limit, tensor.name, step);
    return { ...tensor, values };
  });
}

function guardSigned(x: Matrix, bits: number, tensor: string, step: number): void {
  const half = 1n << BigInt(bits - 1);
  guard(x.data, -half, half - 1n, tensor, step);
}
