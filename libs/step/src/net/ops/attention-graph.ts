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
  const keys = split(e, place, k!, byHeadTransposed);
  const values = split(e, place, v!, byHead);
  const isFloored = e.options.overflow === 'saturate' && shifts.S > 0;
  const masked = emitScores(e, place, q!, keys, Number(sigma));
  const P = emitSoftmax(e, masked, { E, k: iotaBits, a: layer.inputs[0]!.a, out: 12 }, { isMasked: causal, isFloored });
  const Y = e.sat(e.round(e.node('MatMul', [P, values]), shifts.y), layer.output);
  const y = e.reshape(e.transpose(Y, [0, 2, 1, 3]), [-1, T, heads * d]);
  return { output: y, saved: { q: q!, k: k!, v: v!, P } };
}

/**
 * `S`, and far below it at places that do not exist. Where nobody is told what is cut, queries take the scale, and one sum
 * has both the half of the rounding and the mask: cut first, a score rounds to the same. Such scores are the numbers of
 * which `S` is the floor, and no whole ones: they are moved by an odd multiple of half their unit.
 */
function emitScores(e: NetEmitter, place: AttentionPlace, q: string, keys: string, sigma: number): string {
  const { layer, T, shifts } = place;
  const { causal } = layer.members;
  if (e.options.overflow === 'fail') {
    const products = e.node('MatMul', [split(e, place, q, byHead), keys]);
    const S = e.sat(roundScaled(e, products, overPlaces(e, place, sigma, shifts.S), shifts.S), layer);
    return causal ? e.add(S, e.graph.float64([T, T], triangle(T, 0, hidden))) : S;
  }
  const scaled = split(e, place, e.mul(q, e.scalar(sigma * 2 ** -shifts.S)), byHead);
  const cut = e.clamp(e.node('MatMul', [scaled, keys]), -(2 ** 15), 2 ** 15 - 1);
  const half = shifts.S > 0 ? 0.5 + 2 ** -(shifts.S + 1) : 0;
  return e.add(cut, causal ? e.graph.float64([T, T], triangle(T, half, half + hidden)) : e.scalar(half));
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

/** `dS` [batch, heads, T, T]; 0 at places that do not exist, for their shares are. `dP` takes the scale, where it may. */
function emitScoreErrors(e: NetEmitter, place: AttentionPlace, G: string, v: string, P: string): string {
  const { layer, shifts } = place;
  if (e.mayScale && shifts.dP > 0) {
    const given = split(e, place, e.scale(G, -shifts.dP - 12), byHead);
    const product = e.node('MatMul', [given, split(e, place, v, byHeadTransposed)]);
    const dP = e.satScaled(product, shifts.dP, -12, 20);
    const rho = e.column(e.scale(e.nearest(e.sum(e.mul(dP, P), -1, 0), 12), -12));
    return e.sat(e.nearest(e.mul(P, e.sub(dP, rho)), 12), layer, 18);
  }
  const dP = emitShareErrors(e, place, G, split(e, place, v, byHeadTransposed));
  const rho = e.column(e.round(e.sum(e.mul(dP, P), -1, 0), 12));
  return e.sat(e.round(e.mul(P, e.sub(dP, rho)), 12), layer, 18);
}

/** `dP`; what stands at places that do not exist meets shares of 0. */
function emitShareErrors(e: NetEmitter, place: AttentionPlace, G: string, v: string): string {
  const { layer, shifts } = place;
  if (e.options.overflow === 'fail' || shifts.dP <= 0) {
    const product = e.node('MatMul', [split(e, place, G, byHead), v]);
    return e.sat(roundScaled(e, product, overPlaces(e, place, 1, shifts.dP), shifts.dP), layer, 20);
  }
  const product = e.node('MatMul', [split(e, place, e.scale(G, -shifts.dP), byHead), v]);
  return e.sat(e.nearest(product, shifts.dP), layer, 20);
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
  return s > 0 ? e.nearest(moved, s) : e.scale(moved, -s);
}
