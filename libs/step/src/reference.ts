/**
 * One training step over BigInt, straight from libs/step/SPEC.md §4, §5 and §7: the oracle of every faster
 * implementation.
 */
import { refuse } from './errors.js';
import type { GuardSet } from './guard-set.js';
import { countsAt, guardTable, type TensorGuard } from './guards.js';
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
import { checkShapes, checkWeights, type Weights } from './weights.js';

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

/** A manifest with its guards and the step of the job: what every part of a step reads. */
interface Step {
  readonly m: Manifest;
  readonly guards: ReadonlyMap<string, TensorGuard>;
  readonly step: number;
}

/**
 * @param batch the examples of one block, count = B
 * @param step  step of the job, for the schedule, for the guards and for the report of a violation
 * @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE, BATCH_SIZE; GuardViolation GUARD_VIOLATION
 */
export function stepReference(
  m: Manifest,
  weights: Weights,
  batch: Examples,
  step: number,
  set: GuardSet = 'attested',
): StepTrace {
  if (set === 'attested' || step % m.superblock === 0) checkWeights(m, weights);
  else checkShapes(m, weights);
  if (batch.count !== m.batch || batch.features.length !== m.batch * m.dims[0]!) {
    refuse('BATCH_SIZE', `${m.batch} examples`, batch.count, 'libs/step/SPEC.md §4');
  }
  const scales = layerScales(m);
  const own: Step = { m, guards: guardTable(m, set), step };
  const passes = forward(own, scales, weights, batch);
  const { G: lossGradient, softmax } = lossError(own, passes.at(-1)!.Y, batch.labels);
  const layers: LayerTrace[] = [];
  let G = lossGradient;
  for (let i = scales.length - 1; i >= 0; i--) {
    const [scale, pass] = [scales[i]!, passes[i]!];
    const back = i > 0 ? backError(scale, G, weights[2 * i]!.values) : undefined;
    layers.unshift({ ...pass, G, ...(back ? { H: back.H } : {}), ...gradients(scale, pass.A, G) });
    if (back) {
      const mask = passes[i - 1]!.M!;
      const tensor = `G${scale.layer - 1}`;
      G = mapMatrix(back.R, (value, index) => value * mask.data[index]!);
      check(own, tensor, own.guards.get(tensor)!.isMasked ? G.data : back.R.data);
    }
  }
  return { weights: updated(own, weights, layers), layers, ...(softmax ? { softmax } : {}) };
}

function forward(own: Step, scales: readonly LayerScale[], weights: Weights, batch: Examples) {
  const { m } = own;
  const n0 = m.dims[0]!;
  let A = matrix(m.batch, n0, (r, c) => BigInt(batch.features[r * n0 + c]!));
  return scales.map((scale, i): Forward => {
    const input = A;
    const { Z, Y } = dense(scale, input, weights[2 * i]!.values, weights[2 * i + 1]!.values);
    check(own, `Y${scale.layer}`, Y.data);
    if (scale.isLast) return { A: input, Z, Y };
    const activation = clippedRelu(Y, m.abits);
    A = activation.A;
    return { A: input, Z, Y, M: activation.M };
  });
}

function lossError(own: Step, Y: Matrix, labels: Uint8Array): { G: Matrix; softmax?: SoftmaxTrace } {
  const { m } = own;
  const [a, g] = [m.a.at(-1)!, m.g.at(-1)!];
  if (m.loss.kind === 'softmax-ce') {
    const softmax = softmaxGradient(m.loss, g, expTable(m.loss.E, a), Y, labels);
    return { G: softmax.G, softmax };
  }
  const G = mseGradient(a, g, Y, labels);
  check(own, `G${m.dims.length - 1}`, G.data);
  return { G };
}

function updated(own: Step, weights: Weights, layers: readonly LayerTrace[]): Weights {
  const size = stepSize(own.m, own.step);
  return weights.map((tensor, index) => {
    const layer = layers[index >> 1]!;
    const values = descend(tensor.values, index % 2 === 0 ? layer.D : layer.delta, size);
    check(own, tensor.name, values);
    return { ...tensor, values };
  });
}

function check({ m, guards, step }: Step, tensor: string, values: Iterable<bigint>): void {
  const entry = guards.get(tensor)!;
  if (countsAt(m, entry, step)) guard(values, entry.low, entry.high, tensor, step);
}
