/** Attention as nodes of a float64 graph (libs/step/SPEC.md §22), all heads of a batch at once. */
import type { NetEmitter } from '../emitter.js';
import { emitSoftmax } from '../losses/softmax-ce.js';
import type { AttentionPlace } from './attention-place.js';
import type { EmittedPass } from './op.js';

/** Below every score that exists by more than an exponential's table is long. */
const hidden = -(2 ** 17);

export function emitAttention(
  e: NetEmitter,
  place: AttentionPlace,
  [q, k, v]: readonly string[],
): Pick<EmittedPass, 'output' | 'saved'> {
  const { layer, T, d, sigma, shifts } = place;
  const { heads, causal, E, k: iotaBits } = layer.members;
  const Q = split(e, place, q!, byHead);
  const keys = split(e, place, k!, byHeadTransposed);
  const values = split(e, place, v!, byHead);
  const products = e.node('MatMul', [Q, keys]);
  const S = e.sat(roundScaled(e, products, overPlaces(e, place, Number(sigma), shifts.S), shifts.S), layer);
  const masked = causal ? e.add(S, e.graph.float64([T, T], triangle(T, 0, hidden))) : S;
  const P = emitSoftmax(e, masked, { E, k: iotaBits, a: layer.inputs[0]!.a, out: 12 }, causal);
  const Y = e.sat(e.round(e.node('MatMul', [P, values]), shifts.y), layer.output);
  const y = e.reshape(e.transpose(Y, [0, 2, 1, 3]), [-1, T, heads * d]);
  return { output: y, saved: { q: q!, k: k!, v: v!, P } };
}

/** @returns contributions to queries, keys and values, where wanted */
export function emitAttentionErrors(
  e: NetEmitter,
  place: AttentionPlace,
  G: string,
  { q, k, v, P }: EmittedPass['saved'],
  wanted: readonly boolean[],
): readonly (string | undefined)[] {
  const { layer, T, d, sigma, shifts } = place;
  const { heads } = layer.members;
  const put = (x: string, input: number, perm: readonly number[]): string =>
    e.reshape(e.transpose(e.sat(x, layer.inputs[input]!), perm), [-1, T, heads * d]);
  // The transposed product is taken, so that heads are turned and not their scores: (AᵀB) = (BᵀA)ᵀ.
  const dV = (): string => {
    const product = e.node('MatMul', [split(e, place, G, byHeadTransposed), P!]);
    return put(e.round(product, shifts.dV), 2, [0, 3, 1, 2]);
  };
  if (wanted[0] !== true && wanted[1] !== true) return [undefined, undefined, wanted[2] === true ? dV() : undefined];
  const dS = emitScoreErrors(e, place, G, v!, P!);
  const scale = e.scalar(Number(sigma) * 2 ** -Math.max(0, shifts.dQK));
  const dQ = (): string => {
    const product = e.node('MatMul', [dS, split(e, place, k!, byHead)]);
    return put(roundScaled(e, product, scale, shifts.dQK), 0, [0, 2, 1, 3]);
  };
  const dK = (): string => {
    const product = e.node('MatMul', [split(e, place, q!, byHeadTransposed), dS]);
    return put(roundScaled(e, product, scale, shifts.dQK), 1, [0, 3, 1, 2]);
  };
  return [dQ, dK, dV].map((make, i) => (wanted[i] === true ? make() : undefined));
}

/** `dS` [batch, heads, T, T]; 0 at places that do not exist, for their shares are. */
function emitScoreErrors(e: NetEmitter, place: AttentionPlace, G: string, v: string, P: string): string {
  const { layer, shifts } = place;
  const product = e.node('MatMul', [split(e, place, G, byHead), split(e, place, v, byHeadTransposed)]);
  const dP = e.sat(roundScaled(e, product, overPlaces(e, place, 1, shifts.dP), shifts.dP), layer, 20);
  const rho = e.round(e.sum(e.mul(dP, P), -1), 12);
  return e.sat(e.round(e.mul(P, e.sub(dP, rho)), 12), layer, 18);
}

const byHead = [0, 2, 1, 3];
const byHeadTransposed = [0, 2, 3, 1];

function split(e: NetEmitter, { layer, T, d }: AttentionPlace, x: string, perm: readonly number[]): string {
  return e.transpose(e.reshape(x, [-1, T, layer.members.heads, d]), perm);
}

/** factor·2^-s for every pair of places, 0 for pairs that do not exist, whose scores then saturate nothing. */
function overPlaces(e: NetEmitter, { layer, T }: AttentionPlace, factor: number, s: number): string {
  const scaled = factor * 2 ** -Math.max(0, s);
  return layer.members.causal ? e.graph.float64([T, T], triangle(T, scaled, 0)) : e.scalar(scaled);
}

/** [T, T]: `seen` where place i reads place j. */
function triangle(T: number, seen: number, other: number): Float64Array {
  return Float64Array.from({ length: T * T }, (_, i) => (i % T <= Math.floor(i / T) ? seen : other));
}

/** `RS(x·factor, s)` by `scaled` = factor·2^-max(0, s): one product for two, as exact as they. */
function roundScaled(e: NetEmitter, x: string, scaled: string, s: number): string {
  const moved = e.mul(x, scaled);
  return s > 0 ? e.node('Floor', [e.add(moved, e.scalar(0.5))]) : e.scale(moved, -s);
}
