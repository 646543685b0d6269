/**
 * How a training graph carries the state from step to step (libs/step/SPEC.md §26): a tensor each, or, where the optimizer
 * moves element by element, vectors of a size that the processor's cache holds with what comes between: small parameters
 * joined, for a node takes as long as some thousand elements, and slices of the others. Tensors of a large net are
 * neither: taken apart, such a vector is in memory twice.
 */
import { sizeOf } from '../tensors.js';
import { hasRoom } from './bounds.js';
import type { NetParameter } from './edge.js';
import { emitDigit } from './byte-products.js';
import { wholeFrom, type NetEmitter } from './emitter.js';
import { netOf } from './manifest.js';
import type { Net, NetManifest } from './net.js';
import type { ParameterNames } from './ops/op.js';
import { guardMax, isLarge } from './state.js';

/** Trainable parameters that a graph moves as one. */
export interface CarriedGroup {
  readonly name: string;
  /** One, in its own shape, unless they go as a vector [1, 1, elements]. */
  readonly parameters: readonly NetParameter[];
  readonly isJoined: boolean;
  /** Whole rows of its one parameter: elements from..from + size. Absent: whole parameters. */
  readonly slice?: { readonly from: number; readonly size: number };
}

/** Elements of a vector that is moved at once, at most where rows are no longer. */
const sliceElements = 2 ** 15;

/** One tensor that steps hand on. */
export interface Carried {
  readonly name: string;
  readonly dims: readonly number[];
  readonly group: CarriedGroup;
  /** The optimizer's tensor, or '' for the parameters themselves. */
  readonly kind: string;
  /** Whether every element comes as `e.carry` has it. */
  readonly isMoved: boolean;
}

export function carriedGroups({ manifest, parameters, optimizer }: Net): readonly CarriedGroup[] {
  const trained = parameters.filter(({ isFrozen }) => !isFrozen);
  const { kind, members } = optimizer;
  if (kind.moved === undefined) {
    return trained.map((parameter) => ({ name: parameter.name, parameters: [parameter], isJoined: false }));
  }
  const groups = new Map<string, NetParameter[]>();
  for (const parameter of trained) {
    const { name, fraction, compute, decays } = parameter;
    const alike = [fraction, compute, decays && kind.decays?.(members) === true].join();
    const key = isLarge(manifest) ? name : alike;
    groups.set(key, [...(groups.get(key) ?? []), parameter]);
  }
  const vectors = Array.from(groups.values()).flatMap((own) => (isLarge(manifest) ? [{ parameters: own }] : cut(own)));
  return vectors.map((vector, i) => ({ ...vector, name: `joined.${i}`, isJoined: true }));
}

/** Vectors of about `sliceElements`: slices of what has more, the others joined, first those that `isRounded` names. */
function cut(alike: readonly NetParameter[]): readonly Pick<CarriedGroup, 'parameters' | 'slice'>[] {
  const isSliced = (one: NetParameter) => rowsOfSlice(one) < rows(one);
  const small = alike.filter((one) => !isSliced(one));
  const joined: NetParameter[][] = [];
  for (const one of [...small.filter(isRounded), ...small.filter((parameter) => !isRounded(parameter))]) {
    const last = joined.at(-1);
    if (last === undefined || sizeOfAll([...last, one]) > sliceElements) joined.push([one]);
    else last.push(one);
  }
  return [...alike.filter(isSliced).flatMap(slices), ...joined.map((parameters) => ({ parameters }))];
}

function slices(one: NetParameter): readonly Pick<CarriedGroup, 'parameters' | 'slice'>[] {
  const [all, most] = [sizeOf(one.dims), rowsOfSlice(one) * one.dims.at(-1)!];
  return Array.from({ length: Math.ceil(all / most) }, (_, i) => ({
    ...{ parameters: [one], slice: { from: i * most, size: Math.min(most, all - i * most) } },
  }));
}

function rows({ dims }: NetParameter): number {
  return sizeOf(dims) / dims.at(-1)!;
}

/** As even as they come. */
function rowsOfSlice(parameter: NetParameter): number {
  const most = Math.max(1, Math.floor(sliceElements / parameter.dims.at(-1)!));
  return Math.ceil(rows(parameter) / Math.ceil(rows(parameter) / most));
}

/** By kind and then by group. */
export function carriedTensors(net: Net): readonly Carried[] {
  const { kind, members } = net.optimizer;
  const moved = kind.moved?.(members) ?? [];
  return ['', ...kind.states(members)].flatMap((state) =>
    carriedGroups(net).map((group) => ({
      ...{ group, kind: state, isMoved: group.isJoined && moved.includes(state) },
      name: stateName(state, group.name),
      dims: group.isJoined ? [1, 1, group.slice?.size ?? sizeOfAll(group.parameters)] : group.parameters[0]!.dims,
    })),
  );
}

/** A tensor as training graphs take the state and hand it on, and what of the state lies in it. */
interface PackedTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** One behind the other: elements from..from + size of tensors of the state. */
  readonly parts: readonly { readonly name: string; readonly from: number; readonly size: number }[];
  /** What is added to every element. */
  readonly offset: number;
}

export function packedTensors(m: NetManifest): readonly PackedTensor[] {
  const net = netOf(m);
  const offset = hasRoom(net) ? wholeFrom : 0;
  return carriedTensors(net).map(({ name, dims, group, kind, isMoved }) => ({
    ...{ name, dims, offset: isMoved ? offset : 0 },
    parts: group.parameters.map((one) => ({
      ...{ name: stateName(kind, one.name), from: 0, size: sizeOf(one.dims) },
      ...group.slice,
    })),
  }));
}

function stateName(kind: string, name: string): string {
  return kind === '' ? name : `${kind}.${name}`;
}

/** Whether the ops read a compute copy, and not the master. */
function isRounded({ role }: NetParameter): boolean {
  return role === 'W';
}

/** What the ops of a step read of the parameters, by layer. @param groups with their values, joined or not */
export function emitParameters(
  e: NetEmitter,
  groups: readonly Emitted[],
): readonly (readonly [string, ParameterNames])[] {
  const sliced = new Map<NetParameter, Emitted[]>();
  const whole = groups.flatMap((one) => {
    const { parameters, slice } = one.group;
    if (slice === undefined) return emitCopies(e, one).map((name, i) => named(parameters[i]!, name));
    sliced.set(parameters[0]!, [...(sliced.get(parameters[0]!) ?? []), one]);
    return [];
  });
  return [...whole, ...Array.from(sliced, ([one, slices]) => ofSlices(e, one, slices))];
}

interface Emitted {
  readonly group: CarriedGroup;
  readonly W: string;
  readonly carried: { readonly W: string };
  readonly isMoved: boolean;
}

function named(parameter: NetParameter, name: string): readonly [string, ParameterNames] {
  return [parameter.layer, isRounded(parameter) ? { Wc: name } : { b: name }];
}

/** Of one parameter, its digits beside its copy; what nobody reads is not written. */
function ofSlices(e: NetEmitter, one: NetParameter, slices: readonly Emitted[]): readonly [string, ParameterNames] {
  const whole = (emit: (slice: Emitted) => string) => e.later(() => e.reshape(e.concat(slices.map(emit), 2), one.dims));
  const [layer, names] = named(
    one,
    whole((slice) => emitCopies(e, slice)[0]!),
  );
  const shift = one.fraction - one.compute;
  const digits = [0, 1, 2].map((at) =>
    whole(({ carried, isMoved }) => emitDigit(e, carried.W, isMoved ? e.carriedFrom : 0, shift, at)),
  );
  return [layer, isRounded(one) ? { ...names, digit: (at) => digits[at]! } : names];
}

/** By parameter; of a slice one, as it is carried. */
function emitCopies(e: NetEmitter, { group, W }: Emitted): readonly string[] {
  const { parameters, isJoined, slice } = group;
  const { fraction, compute } = parameters[0]!;
  const shift = fraction - compute;
  if (!isJoined) return [isRounded(parameters[0]!) ? e.round(W, shift) : W];
  const weights = parameters.filter(isRounded);
  const copy = weights.length === 0 ? W : e.roundedScaled(W, 2 ** -shift, shift);
  if (slice !== undefined) return [copy];
  const size = sizeOfAll(weights);
  const rest = parameters.slice(weights.length);
  const copies = weights.length === 0 ? [] : e.parts(copy, dimsOf(weights), sizeOfAll(rest));
  const masters = rest.length === 0 ? [] : e.parts(e.slice(W, 2, size, size + sizeOfAll(rest)), dimsOf(rest));
  return [...copies, ...masters];
}

/**
 * The guards of the parameters after an update, in the order of the reference, which names the first that is left.
 *
 * @param last by group, as it is carried
 */
export function watchParameters(
  e: NetEmitter,
  net: Net,
  groups: readonly CarriedGroup[],
  last: readonly string[],
): void {
  const values = groups.map((group, at): readonly (readonly [NetParameter, string])[] => {
    const { isMoved } = carriedTensors(net).find((one) => one.group.name === group.name)!;
    const W = isMoved ? e.carriedValue(last[at]!) : last[at]!;
    const parts = group.isJoined && group.slice === undefined ? e.parts(W, dimsOf(group.parameters)) : [W];
    return group.parameters.map((parameter, i) => [parameter, parts[i]!]);
  });
  for (const parameter of net.parameters) {
    for (const [one, value] of values.flat()) {
      if (one === parameter) e.watch(value, parameter.name, Number(guardMax(parameter)));
    }
  }
}

function dimsOf(parameters: readonly NetParameter[]): readonly (readonly number[])[] {
  return parameters.map(({ dims }) => dims);
}

function sizeOfAll(parameters: readonly NetParameter[]): number {
  return dimsOf(parameters).reduce((sum, dims) => sum + sizeOf(dims), 0);
}
