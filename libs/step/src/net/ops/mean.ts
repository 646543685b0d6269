/** Means that keep their own fraction (libs/step/SPEC.md §22): `PD(x, s, n) = DIVR(x·2^s, n)`, or `DIVR(x, n·2^-s)` where s < 0. */
import { divRound } from '../../integers.js';
import { bound, type NetBound, type NetLayer } from '../edge.js';
import type { NetEmitter } from '../emitter.js';

/** `PD(x, s, n)`. */
export function meanOf(x: bigint, s: number, n: number): bigint {
  return s >= 0 ? divRound(x << BigInt(s), BigInt(n)) : divRound(x, BigInt(n) << BigInt(-s));
}

export function emitMean(e: NetEmitter, x: string, s: number, n: number): string {
  return s >= 0 ? e.divRoundBy(e.scale(x, s), n) : e.divRoundBy(x, n * 2 ** -s);
}

/** Of a sum of n values, and of an error that n elements share. */
export function meanShifts({ inputs: [input], output }: NetLayer): { readonly forward: number; readonly back: number } {
  return { forward: output.a - input!.a, back: input!.g - output.g };
}

/** Rule avgpool. */
export function meanBounds(layer: NetLayer, n: number): readonly NetBound[] {
  const { forward, back } = meanShifts(layer);
  const shifts = layer.inputs[0]!.hasError ? [forward, back] : [forward];
  const power = (s: number): bigint => 1n << BigInt(Math.max(0, s));
  return shifts.map((s) => bound('AVGPOOL', layer.id, BigInt(n) * ((1n << 16n) * power(s) + power(-s)), 1n << 52n));
}
