/** Says of a call of the quick graph whether its weights are sure (libs/step/SPEC.md §10.1). */
import type { GuardSet } from './guard-set.js';
import { guardTable, type TensorGuard } from './guards.js';
import type { Manifest } from './manifest.js';
import { activation } from './ops/index.js';
import { layerScales, type LayerScale } from './scale.js';
import { byLayer, tensorShapes } from './weights.js';

/** What a call of the quick graph had and returned. */
export interface QuickCall {
  /** Size of every step. */
  readonly stepSizes: Float64Array;
  /** Largest magnitude of each of `boundedTensors` before the first step. */
  readonly before: Readonly<Record<string, number>>;
  /** Output of the graph by name. */
  readonly output: (name: string) => Float64Array;
}

/** Magnitudes below this are integers of float32, and so are their sums. */
const singleMax = 2 ** 24;

/**
 * @returns whether no guard of the set was hit, no activation was clipped at its upper end, and every number of the
 * call was exact; `false` says only that the call does not show it
 */
export function quickVerdict(m: Manifest, set: GuardSet): (call: QuickCall) => boolean {
  const guards = guardTable(m, set);
  const names = byLayer(
    m,
    tensorShapes(m).map(({ name }) => name),
  );
  const layers = layerScales(m).map((scale, i) => ({ scale, ...names[i]! }));
  return (call) =>
    layers.every(({ scale, weight, bias }) => {
      if (!outputsHold(m, guards, scale, call)) return false;
      const sums = columnSums(scale, call);
      const error = guards.get(`G${scale.layer}`);
      if (error && !sums.every((sum) => sum <= Number(error.high))) return false;
      const moves = sums.map((sum, t) => sum * call.stepSizes[t]!);
      if (!stays(guards.get(bias)!, moves, call)) return false;
      const ofWeights = guards.get(weight)!;
      if (scale.layer > 1) return call.output(`max.${weight}`).every((most) => most <= Number(ofWeights.high));
      const ofProducts = moves.map((move) => move * scale.inputMax);
      return ofProducts.every((sum) => sum < singleMax) && stays(ofWeights, ofProducts, call);
    });
}

function outputsHold(
  m: Manifest,
  guards: ReadonlyMap<string, TensorGuard>,
  { layer, isLast }: LayerScale,
  { output }: QuickCall,
): boolean {
  const limit = Number(guards.get(`Y${layer}`)!.high);
  const top = isLast ? limit : Math.min(limit, activation.quickMax(m.abits));
  return output(`high.Y${layer}`).every((y) => y <= top) && output(`low.Y${layer}`).every((y) => y >= -limit);
}

/** Per step the largest column sum of |G_l|; it bounds each error, and its products with an input bound each sum of products. */
function columnSums({ layer, outputs }: LayerScale, { output, stepSizes }: QuickCall): Float64Array {
  const sums = output(`sum.G${layer}`);
  return stepSizes.map((_, t) => sums.subarray(t * outputs, (t + 1) * outputs).reduce((a, b) => Math.max(a, b), 0));
}

/**
 * Whether a tensor that moves by at most so much per step stays in its range after every step. It strays by no more than
 * all moves together from where it began, so that every step is exact; then it is within the moves so far of where it
 * began, and within those to come of where it ended.
 */
function stays({ tensor, high, carriedMax }: TensorGuard, moves: Float64Array, { before, output }: QuickCall): boolean {
  const [start, end] = [before[tensor]!, output(`most.${tensor}`)[0]!];
  const total = moves.reduce((a, b) => a + b, 0);
  if (!(start + total <= carriedMax)) return false;
  let done = 0;
  return moves.every((move) => {
    done += move;
    return Math.min(start + done, end + (total - done)) <= Number(high);
  });
}
