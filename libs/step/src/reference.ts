/**
 * One training step over BigInt, straight from libs/step/SPEC.md §4, §5 and §7: the oracle of every faster
 * implementation.
 */
import { refuse } from './errors.js';
import type { GuardSet } from './guard-set.js';
import { countsAt, guardTable, type TensorGuard } from './guards.js';
import { lossOf } from './losses/index.js';
import type { LossTrace } from './losses/loss.js';
import { featureCount, stepSize, type Manifest } from './manifest.js';
import { mapMatrix, matrix, type Matrix } from './matrix.js';
import { guard } from './ops/guard.js';
import { activation, linear, type ByKind } from './ops/index.js';
import type { Examples } from './records.js';
import { layerScales, type LayerScale } from './scale.js';
import type { Weights } from './tensors.js';
import { byLayer, checkShapes, checkWeights, tensorShapes } from './weights.js';

interface LayerTrace {
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

interface StepTrace {
  /** Weights after the step. */
  readonly weights: Weights;
  /** Layers 1..L. */
  readonly layers: readonly LayerTrace[];
  readonly loss: LossTrace;
}

type Forward = Pick<LayerTrace, 'A' | 'Z' | 'Y' | 'M'>;

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
  if (batch.count !== m.batch || batch.features.length !== m.batch * featureCount(m)) {
    refuse('BATCH_SIZE', `${m.batch} examples`, batch.count, 'libs/step/SPEC.md §4');
  }
  const scales = layerScales(m);
  const own: Step = { m, guards: guardTable(m, set), step };
  const values = weights.map((tensor) => tensor.values);
  const parameters = byLayer(m, values);
  const passes = forward(own, scales, parameters, batch);
  const layers: LayerTrace[] = [];
  const loss = lossError(own, passes.at(-1)!.Y, batch.labels);
  let { G } = loss;
  for (let i = scales.length - 1; i >= 0; i--) {
    const [scale, pass] = [scales[i]!, passes[i]!];
    const back = i > 0 ? linear.backward(scale, G, parameters[i]!) : undefined;
    const { weight: D, bias: delta } = linear.gradients(scale, pass.A, G);
    layers.unshift({ ...pass, G, ...(back ? { H: back.H } : {}), D, delta });
    if (back) {
      const mask = passes[i - 1]!.M!;
      const tensor = `G${scale.layer - 1}`;
      G = mapMatrix(back.R, (value, index) => value * mask.data[index]!);
      check(own, tensor, own.guards.get(tensor)!.isMasked ? G.data : back.R.data);
    }
  }
  return { weights: updated(own, weights, layers), layers, loss };
}

function forward(
  own: Step,
  scales: readonly LayerScale[],
  parameters: readonly ByKind<BigInt64Array>[],
  batch: Examples,
): readonly Forward[] {
  const { m } = own;
  const n0 = featureCount(m);
  let A = matrix(m.batch, n0, (r, c) => BigInt(batch.features[r * n0 + c]!));
  return scales.map((scale, i): Forward => {
    const input = A;
    const { Z, Y } = linear.forward(scale, input, parameters[i]!);
    check(own, `Y${scale.layer}`, Y.data);
    if (scale.isLast) return { A: input, Z, Y };
    const { A: output, M } = activation.forward(Y, m.abits);
    A = output;
    return { A: input, Z, Y, M };
  });
}

function lossError(own: Step, Y: Matrix, labels: Uint8Array): LossTrace {
  const loss = lossOf(own.m);
  const trace = loss.gradient(Y, labels);
  if (loss.isGuarded) check(own, `G${own.m.dims.length - 1}`, trace.G.data);
  return trace;
}

function updated(own: Step, weights: Weights, layers: readonly LayerTrace[]): Weights {
  const size = BigInt(stepSize(own.m, own.step));
  return tensorShapes(own.m).map(({ name, dims, role: { layer, kind } }, index) => {
    const { D: weight, delta: bias } = layers[layer - 1]!;
    const gradient = { weight, bias }[kind];
    const values = weights[index]!.values.map((value, i) => value - size * gradient.data[i]!);
    check(own, name, values);
    return { name, dims, values };
  });
}

function check({ m, guards, step }: Step, tensor: string, values: Iterable<bigint>): void {
  const entry = guards.get(tensor)!;
  if (countsAt(m, entry, step)) guard(values, entry.low, entry.high, tensor, step);
}
