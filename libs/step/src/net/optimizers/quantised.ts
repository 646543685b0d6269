/**
 * What `sgd` and `adamw` share (libs/step/SPEC.md §24): the quantised gradient
 * `h = CLAMP(RS(D, f_D − gq), ±(2^(hbits−1) − 1))`, its clipping by the norm of the whole, the step `RS(λ_t·s, ·)` and
 * decoupled weight decay.
 */
import { clamp, floorDiv, isqrt, roundShift } from '../../integers.js';
import { bound, roundingValue, type NetBound, type NetParameter } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import type { JsonReader } from '../reader.js';
import { columnSums } from '../tensor.js';
import type { EmittedGroup, Moved, NetOptimizer } from './optimizer.js';
import { largestRate, parseSchedule, rateAt, scheduleBounds, type Schedule } from './schedule.js';

export interface Quantised {
  /** Fraction of `h`. */
  readonly gq: number;
  readonly hbits: number;
  /** Largest norm of the whole gradient, at fraction `gq − 6`. */
  readonly clip?: number;
  /** Real weight decay · 2^16. */
  readonly decay?: number;
  readonly lr: Schedule;
}

type Integers = readonly bigint[];

export const quantisedMembers = ['gq', 'hbits', 'clip', 'decay', 'lr'];

/** What every optimizer with a quantised gradient is. */
export const quantisedFaces = {
  hasMasters: true,
  decays: ({ decay }: Quantised): boolean => decay !== undefined,
  scalars: (optimizer: Quantised, step: number): readonly number[] => {
    const rate = rateAt(optimizer.lr, step);
    return [rate, ...(optimizer.decay === undefined ? [] : [decayAt(optimizer, rate)])].map(Number);
  },
} satisfies Partial<NetOptimizer<Quantised>>;

/** @throws Rejection MANIFEST_* */
export function parseQuantised(read: JsonReader): Quantised {
  const clip = read.optionalInteger('clip', 1, 2 ** 36);
  const decay = read.optionalInteger('decay', 0, 2 ** 32);
  return {
    gq: read.integer('gq', 0, 40, 12),
    hbits: read.integer('hbits', 2, 40, 21),
    ...(clip !== undefined && { clip }),
    ...(decay !== undefined && { decay }),
    lr: parseSchedule(read.json('lr')),
  };
}

/** Largest magnitude of an element of `h`. */
function gradientTop({ hbits }: Quantised): bigint {
  return (1n << BigInt(hbits - 1)) - 1n;
}

/** `ω_t = RS(λ_t·decay, ℓ + 16 − 30)`, fraction 30. */
function decayAt({ decay = 0, lr }: Quantised, rate: bigint): bigint {
  return roundShift(rate * BigInt(decay), lr.frac - 14);
}

/**
 * Rules of `h`, clip, schedule, decay, and of the step by λ_t.
 *
 * @param rule    that the step's bound is named by
 * @param largest magnitude of `λ_t·s`
 * @param shift   fraction of `s`
 */
export function quantisedBounds(
  optimizer: Quantised,
  parameters: readonly NetParameter[],
  { rule, largest, shift }: { readonly rule: string; readonly largest: bigint; readonly shift: number },
): readonly NetBound[] {
  const { gq, lr } = optimizer;
  return [
    ...parameters.flatMap(({ name, gradientMax, gradientFraction, fraction }) => [
      bound('GRADIENT', name, roundingValue(gradientMax, gradientFraction - gq)),
      bound(rule, name, roundingValue(largest, shift + lr.frac - fraction)),
    ]),
    ...clipBounds(optimizer, parameters),
    ...decayBounds(optimizer, parameters),
    ...scheduleBounds(lr),
  ];
}

/** Squares summed down a column, their total under the root, and `h·κ` with κ ≤ 2^16. */
function clipBounds(optimizer: Quantised, parameters: readonly NetParameter[]): readonly NetBound[] {
  if (optimizer.clip === undefined) return [];
  const top = gradientTop(optimizer);
  const columns = parameters.map((parameter) => ({ parameter, sum: BigInt(columnRows(parameter)) * top * top }));
  const total = columns.reduce(
    (sum, { parameter, sum: column }) => sum + BigInt(parameter.dims.at(-1)!) * roundShift(column, 12),
    0n,
  );
  return [
    ...columns.map(({ parameter, sum }) => bound('CLIP', parameter.name, roundingValue(sum, 12))),
    bound('CLIP', 'optimizer.clip', total, 1n << 52n),
    bound('CLIP', 'optimizer.hbits', roundingValue(top << 16n, 16)),
  ];
}

function decayBounds(optimizer: Quantised, parameters: readonly NetParameter[]): readonly NetBound[] {
  const { decay, lr } = optimizer;
  if (decay === undefined) return [];
  const rate = largestRate(lr);
  const omega = decayAt(optimizer, rate);
  return [
    bound('DECAY', 'optimizer.decay', roundingValue(rate * BigInt(decay), lr.frac - 14)),
    ...parameters
      .filter(({ decays }) => decays)
      .map(({ name, fraction, wint }) => bound('DECAY', name, roundingValue(omega << BigInt(fraction + wint), 30))),
  ];
}

/** Elements of a column: all axes but the last; 1 of a vector. */
function columnRows({ dims }: NetParameter): number {
  return dims.slice(0, -1).reduce((rows, size) => rows * size, 1);
}

/** `h` of every parameter, clipped. */
export function quantisedGradients(optimizer: Quantised, moved: readonly Moved[]): readonly Integers[] {
  const top = gradientTop(optimizer);
  const all = moved.map(({ D, parameter }) =>
    D.map((value) => clamp(roundShift(value, parameter.gradientFraction - optimizer.gq), -top, top)),
  );
  if (optimizer.clip === undefined || all.length === 0) return all;
  const norm = isqrt(all.reduce((sum, h, i) => sum + squares(h, moved[i]!.parameter), 0n));
  const clip = BigInt(optimizer.clip);
  if (norm <= clip) return all;
  const kappa = floorDiv(clip << 16n, norm);
  return all.map((h) => h.map((value) => roundShift(value * kappa, 16)));
}

/** `Σ_j RS(Σ_i h_ij², 12)`, j along the last axis. */
function squares(h: Integers, { dims }: NetParameter): bigint {
  const columns = columnSums(
    h.map((value) => value * value),
    dims.at(-1)!,
  );
  return columns.reduce((sum, column) => sum + roundShift(column, 12), 0n);
}

/** @param shift fraction of the step `s` @returns `W − RS(λ_t·s, shift + ℓ − w) − wd` */
export function stepped(
  optimizer: Quantised,
  { W, parameter }: Pick<Moved, 'W' | 'parameter'>,
  s: Integers,
  { step, shift }: { readonly step: number; readonly shift: number },
): bigint[] {
  const rate = rateAt(optimizer.lr, step);
  const omega = parameter.decays ? decayAt(optimizer, rate) : 0n;
  const by = shift + optimizer.lr.frac - parameter.fraction;
  return W.map((value, i) => value - roundShift(rate * s[i]!, by) - roundShift(omega * value, 30));
}

/**
 * The most by which a step takes an element away from 0, for |s| ≤ most. Decay brings it nearer to 0 while ω is at most 1:
 * |W − RS(ω·W, 30)| ≤ |W|; beyond that there is no such number, and any guard is passed.
 */
export function stepMax(
  optimizer: Quantised,
  { fraction, wint }: NetParameter,
  step: number,
  most: bigint,
  shift: number,
): bigint {
  const rate = rateAt(optimizer.lr, step);
  if (decayAt(optimizer, rate) > 1n << 30n) return 1n << BigInt(fraction + wint);
  return roundShift(rate * most, shift + optimizer.lr.frac - fraction);
}

/** `h` of each group, clipped. Where the norm is not above `clip`, κ is 2^16 and `RS(h·κ, 16)` is h. */
export function emitGradients(e: NetEmitter, optimizer: Quantised, groups: readonly EmittedGroup[]): readonly string[] {
  const moved = emitMoved(e, optimizer, groups);
  const top = Number(gradientTop(optimizer));
  const all = groups.map(({ parameters }, i) => {
    const isRounded = parameters.some((one) => shiftOf(one, optimizer) > 0);
    return e.clamp(isRounded ? e.whole(moved[i]!) : moved[i]!, -top, top);
  });
  if (optimizer.clip === undefined || all.length === 0) return all;
  const n2 = e.sum(e.round(e.concat(emitColumns(e, groups, all), 0), 12), 0);
  const kappa = e.floorDiv(e.scalar(optimizer.clip * 2 ** 16), e.node('Max', [e.isqrt(n2), e.scalar(1)]));
  const cut = e.scale(e.node('Min', [kappa, e.scalar(2 ** 16)]), -16);
  return all.map((h) => e.roundedScaled(h, cut, 16));
}

function shiftOf({ gradientFraction }: NetParameter, { gq }: Quantised): number {
  return gradientFraction - gq;
}

/** What `whole` makes `RS(D, f_D − gq)`, of each group. Slices are of one product. */
function emitMoved(e: NetEmitter, optimizer: Quantised, groups: readonly EmittedGroup[]): readonly string[] {
  const slices = new Map<NetParameter, readonly string[]>();
  return groups.map(({ parameters, slice, D }) => {
    const one = parameters[0]!;
    if (slice === undefined) {
      return e.joined(D.map((name, i) => e.rowSums.moved(name, shiftOf(parameters[i]!, optimizer))));
    }
    const columns = one.dims.at(-1)!;
    const sizes = groups.flatMap((group) => (group.parameters[0] === one ? [group.slice!.size / columns] : []));
    const [first, ...others] = slices.get(one) ?? e.rowSums.movedParts(D[0]!, shiftOf(one, optimizer), sizes, columns);
    slices.set(one, others);
    return first!;
  });
}

/** `Σ_i h_ij²` by parameter, j along the last axis. */
function emitColumns(e: NetEmitter, groups: readonly EmittedGroup[], h: readonly string[]): readonly string[] {
  const columns = new Map<NetParameter, string[]>();
  groups.forEach(({ parameters, slice }, at) => {
    const dims = slice === undefined ? parameters.map((one) => one.dims) : [[-1, parameters[0]!.dims.at(-1)!]];
    const squares = e.mul(h[at]!, h[at]!);
    const parts = slice === undefined ? e.parts(squares, dims) : [e.reshape(squares, dims[0]!)];
    parameters.forEach((one, i) => {
      const sum = dims[i]!.length === 1 ? parts[i]! : e.sum(parts[i]!, 0, 0);
      columns.set(one, [...(columns.get(one) ?? []), sum]);
    });
  });
  return Array.from(columns.values(), (sums) => (sums.length === 1 ? sums[0]! : e.node('Sum', sums)));
}

/** @param scalars λ_t, and ω_t where there is a decay @returns W after the step, as it is carried */
export function emitStepped(
  e: NetEmitter,
  { lr }: Quantised,
  { W, carried, parameters: [parameter] }: EmittedGroup,
  s: string,
  { scalars: [rate, omega], shift }: { readonly scalars: readonly string[]; readonly shift: number },
): string {
  const by = shift + lr.frac - parameter!.fraction;
  const next = e.sub(carried.W, emitRounded(e, s, rate!, by));
  return omega === undefined || !parameter!.decays ? next : e.sub(next, emitRounded(e, W, omega, 30));
}

/** `RS(x·factor, s)`, or with room what a carried number less it is rounded to. */
function emitRounded(e: NetEmitter, x: string, factor: string, s: number): string {
  const moved = e.affine(x, e.scale(factor, -s), s > 0 ? e.half(s) : 0);
  return s > 0 && !e.options.hasRoom ? e.whole(moved) : moved;
}
