/**
 * Reads a function of one edge that an exporter spelled out in small nodes (GELU, SiLU, a norm, the mask of attention) by
 * what it does to samples: exporters differ in how they write it, the values do not.
 */
import { sizeOf, type Constant } from '../constant.js';
import { isLastAxis, type Value } from '../draft.js';
import type { Scene } from '../rule.js';
import { affineOf } from '../affine.js';
import { dimsOf, placesOf } from '../view.js';
import { activationOf, byTanh } from './activation.js';
import { gelu, geluByTanh, logistic } from './arithmetic.js';
import { normOf, type NormKind } from './normalization.js';

/** A sample of the edge and what the nodes make of it; both have the tensor's sizes. */
export interface Sample {
  readonly x: Constant;
  readonly y: Constant;
}

/** A small one shows the epsilon of a norm, large ones where a function bends: the last is all that an edge of fraction 8 holds. */
const amplitudes = [1, 1, 0.005, 4, 32];
export const sampleCount = amplitudes.length;

/** How much farther than its edge a value goes; scores have ends of their own. */
function reachOf({ edge, affine }: Value): number {
  if (edge.scores !== undefined) return 1 / amplitudes.at(-1)!;
  return affine === undefined ? 1 : affine.scale.reduce((most, scale) => Math.max(most, Math.abs(scale)), 1);
}

/** Sample `k` of a tensor: reals within ±4 times an amplitude; tokens from 0. */
export function sampleOf(value: Value, k: number): Constant {
  const dims = dimsOf(value.view);
  const size = sizeOf(dims);
  let state = 0x9e3779b9 ^ (k * 0x85ebca6b);
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const reach = k === sampleCount - 1 ? reachOf(value) : 1;
  const draw = value.edge.isTokens ? (i: number) => k * size + i : () => (next() * 8 - 4) * amplitudes[k]! * reach;
  return {
    kind: value.edge.isTokens ? 'int' : 'float',
    dims,
    values: Float64Array.from({ length: size }, (_, i) => draw(i)),
  };
}

const near = (found: number, wanted: number, scale = 1): boolean =>
  Math.abs(found - wanted) <= 2e-6 * (Math.abs(wanted) + scale);

const pointwise: readonly (readonly [op: string, f: (x: number) => number, message?: string])[] = [
  ['gelu', gelu],
  ['gelu', geluByTanh, byTanh],
  ['silu', (x) => x * logistic(x)],
  ['relu', (x) => Math.max(0, x)],
  ['sigmoid', logistic],
  ['tanh', Math.tanh],
];

const isFunction = (samples: readonly Sample[], f: (x: number) => number): boolean =>
  samples.every(({ x, y }) => y.values.every((value, i) => near(value, f(x.values[i]!))));

/** Numbers of the nodes that may be the epsilon of a norm. */
const epsilons = (constants: readonly number[]): readonly number[] => [
  ...new Set([0, ...constants.filter((value) => value > 0 && value < 0.1)]),
];

function normalised(row: Float64Array, kind: NormKind, eps: number): Float64Array {
  const mean = kind === 'layernorm' ? row.reduce((sum, value) => sum + value, 0) / row.length : 0;
  const power = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  return row.map((value) => (value - mean) / Math.sqrt(power + eps));
}

interface Norm {
  readonly kind: NormKind;
  readonly eps: number;
  readonly gain: Float64Array;
  readonly beta: Float64Array;
}

/** Gains and shifts that make the norm of two rows what it is, where they explain all rows of all samples too. */
function fitted(samples: readonly Sample[], width: number, kind: NormKind, eps: number): Norm | undefined {
  const rows = samples.flatMap(({ x, y }) =>
    Array.from({ length: x.values.length / width }, (_, r) => ({
      n: normalised(x.values.subarray(r * width, (r + 1) * width), kind, eps),
      y: y.values.subarray(r * width, (r + 1) * width),
    })),
  );
  const gain = new Float64Array(width);
  const beta = new Float64Array(width);
  for (let c = 0; c < width; c++) {
    const [low, high] = [0, 1].map((end) =>
      rows.reduce((best, row) => ((end === 0) === row.n[c]! < best.n[c]! ? row : best)),
    );
    gain[c] = (high!.y[c]! - low!.y[c]!) / (high!.n[c]! - low!.n[c]!);
    beta[c] = high!.y[c]! - gain[c]! * high!.n[c]!;
    if (kind === 'rmsnorm') {
      if (!near(beta[c]!, 0, Math.abs(gain[c]!) + 1e-6)) return undefined;
      beta[c] = 0;
    }
    if (Math.abs(beta[c]!) < 1e-12) beta[c] = 0;
  }
  const largest = rows.reduce((most, { y }) => y.reduce((x, one) => Math.max(x, Math.abs(one)), most), 0);
  const scale = Math.min(1, largest);
  const explains = rows.every(({ n, y }) => n.every((value, c) => near(y[c]!, gain[c]! * value + beta[c]!, scale)));
  return explains && gain.every(Number.isFinite) ? { kind, eps, gain, beta } : undefined;
}

function normIn(samples: readonly Sample[], width: number, constants: readonly number[]): Norm | undefined {
  if (width < 2) return undefined;
  for (const kind of ['rmsnorm', 'layernorm'] as const) {
    for (const eps of epsilons(constants)) {
      const norm = fitted(samples, width, kind, eps);
      if (norm !== undefined) return norm;
    }
  }
  return undefined;
}

const masked = -1e4;

/** Scores times a factor with a mask on them. */
function maskedScores(value: Value, samples: readonly Sample[]): Value | undefined {
  const scores = value.edge.scores!;
  const T = value.edge.shape[1]!;
  const places = placesOf(value.view);
  const [{ x, y }] = samples as [Sample];
  const open = y.values.findIndex((found) => found > masked);
  if (open < 0) return undefined;
  const factor = y.values[open]! / x.values[open]!;
  const isMasked = (at: number): boolean => at % T > Math.floor(at / T) % T;
  const holds = (hides: (at: number) => boolean): boolean =>
    samples.every((sample) =>
      sample.y.values.every((found, i) =>
        hides(places[i]!) ? found <= masked : near(found, factor * sample.x.values[i]!),
      ),
    );
  const isOpen = holds(() => false);
  if (!isOpen && (scores.isNormalised || !holds(isMasked))) return undefined;
  if (scores.isNormalised && factor !== 1) return undefined;
  const isCausal = scores.isCausal || !isOpen;
  return { edge: { ...value.edge, scores: { ...scores, isCausal, scale: scores.scale * factor } }, view: value.view };
}

/**
 * @param constants numbers that stand in the nodes
 * @returns the value after the nodes as a layer of `value`, or undefined when no layer does what they do
 */
export function functionOf(
  value: Value,
  samples: readonly Sample[],
  constants: readonly number[],
  { draft, a, tell }: Scene,
): Value | undefined {
  if (samples.some(({ x, y }) => String(x.dims) !== String(y.dims))) return undefined;
  if (value.edge.scores !== undefined) return maskedScores(value, samples);
  if (isFunction(samples, (x) => x)) return value;
  if (value.edge.isTokens) return undefined;
  if (samples.some(({ y }) => y.values.some((found) => !Number.isFinite(found)))) return undefined;
  const found = pointwise.find(([, f]) => isFunction(samples, f));
  if (found !== undefined) {
    if (found[2] !== undefined) tell(found[2]);
    return activationOf(draft, found[0], value);
  }
  const whole = draft.whole(draft.settled(value));
  const last = value.view.dims.length - 1;
  const norm = isLastAxis(whole, last) ? normIn(samples, dimsOf(value.view)[last]!, constants) : undefined;
  if (norm === undefined) return undefined;
  return normOf(draft, norm.kind, whole, norm.eps, a, norm.gain, norm.kind === 'layernorm' ? norm.beta : undefined);
}

/** A pointwise node that adds or multiplies constants. */
export function constantStep(op: string, value: Value, constant: Constant, isLeft: boolean): Value | undefined {
  if (op === 'Add') return affineOf(value, 1, constant);
  if (op === 'Mul') return affineOf(value, constant, 0);
  if (op === 'Sub' && isLeft) return affineOf(value, -1, constant);
  const mapped = (f: (x: number) => number): Constant => ({ ...constant, values: constant.values.map(f) });
  if (op === 'Sub')
    return affineOf(
      value,
      1,
      mapped((x) => -x),
    );
  return op === 'Div' && !isLeft
    ? affineOf(
        value,
        mapped((x) => 1 / x),
        0,
      )
    : undefined;
}
