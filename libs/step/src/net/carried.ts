/**
 * How a training graph carries the state from step to step (libs/step/SPEC.md §26): a tensor each, or joined, where the
 * optimizer moves element by element: a node takes as long as some thousand elements. Tensors of a large net are not
 * joined: taken apart, such a vector is in memory twice.
 */
import { sizeOf } from '../tensors.js';
import { hasRoom } from './bounds.js';
import type { NetParameter } from './edge.js';
import { wholeFrom, type NetEmitter } from './emitter.js';
import { netOf } from './manifest.js';
import type { Net, NetManifest } from './net.js';
import type { ParameterNames } from './ops/op.js';
import { guardMax, isLarge } from './state.js';

/** Trainable parameters that a graph moves as one. */
export interface CarriedGroup {
  readonly name: string;
  /** One, in its own shape, unless they go as a vector: then [1, 1, elements], first those that `isRounded` names. */
  readonly parameters: readonly NetParameter[];
  readonly isJoined: boolean;
}

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
  return Array.from(groups.values(), (own, i) => ({
    ...{ name: `joined.${i}`, isJoined: true },
    parameters: [...own.filter(isRounded), ...own.filter((parameter) => !isRounded(parameter))],
  }));
}

/** By kind and then by group. */
export function carriedTensors(net: Net): readonly Carried[] {
  const { kind, members } = net.optimizer;
  const moved = kind.moved?.(members) ?? [];
  return ['', ...kind.states(members)].flatMap((state) =>
    carriedGroups(net).map((group) => ({
      ...{ group, kind: state, isMoved: group.isJoined && moved.includes(state) },
      name: stateName(state, group.name),
      dims: group.isJoined ? [1, 1, sizeOfAll(group.parameters)] : group.parameters[0]!.dims,
    })),
  );
}

/** A tensor as training graphs take the state and hand it on, and what of the state lies in it. */
interface PackedTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** One behind the other. */
  readonly parts: readonly { readonly name: string; readonly size: number }[];
  /** What is added to every element. */
  readonly offset: number;
}

export function packedTensors(m: NetManifest): readonly PackedTensor[] {
  const net = netOf(m);
  const offset = hasRoom(net) ? wholeFrom : 0;
  return carriedTensors(net).map(({ name, dims, group, kind, isMoved }) => ({
    ...{ name, dims, offset: isMoved ? offset : 0 },
    parts: group.parameters.map((one) => ({ name: stateName(kind, one.name), size: sizeOf(one.dims) })),
  }));
}

function stateName(kind: string, name: string): string {
  return kind === '' ? name : `${kind}.${name}`;
}

/** Whether the ops read a compute copy, and not the master. */
function isRounded({ role }: NetParameter): boolean {
  return role === 'W';
}

/** What the ops of a step read of a group's parameters, by layer. @param W their values, joined or not */
export function emitParameters(
  e: NetEmitter,
  { parameters, isJoined }: CarriedGroup,
  W: string,
): readonly (readonly [string, ParameterNames])[] {
  const { fraction, compute } = parameters[0]!;
  const shift = fraction - compute;
  const named = (parameter: NetParameter, name: string) =>
    [parameter.layer, isRounded(parameter) ? { Wc: name } : { b: name }] as const;
  if (!isJoined) return [named(parameters[0]!, isRounded(parameters[0]!) ? e.round(W, shift) : W)];
  const weights = parameters.filter(isRounded);
  const size = sizeOfAll(weights);
  const rest = parameters.slice(weights.length);
  const copies =
    weights.length === 0 ? [] : e.parts(e.roundedScaled(W, 2 ** -shift, shift), dimsOf(weights), sizeOfAll(rest));
  const masters = rest.length === 0 ? [] : e.parts(e.slice(W, 2, size, size + sizeOfAll(rest)), dimsOf(rest));
  return [...copies, ...masters].map((name, i) => named(parameters[i]!, name));
}

/** The guards of a group's parameters after an update. @param last as it is carried */
export function watchGroup(e: NetEmitter, net: Net, group: CarriedGroup, last: string): void {
  const { isMoved } = carriedTensors(net).find((one) => one.group.name === group.name)!;
  const W = isMoved ? e.carriedValue(last) : last;
  const parts = group.isJoined ? e.parts(W, dimsOf(group.parameters)) : [W];
  group.parameters.forEach((parameter, i) => e.watch(parts[i]!, parameter.name, Number(guardMax(parameter))));
}

function dimsOf(parameters: readonly NetParameter[]): readonly (readonly number[])[] {
  return parameters.map(({ dims }) => dims);
}

function sizeOfAll(parameters: readonly NetParameter[]): number {
  return dimsOf(parameters).reduce((sum, dims) => sum + sizeOf(dims), 0);
}
