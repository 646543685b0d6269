/** What an optimizer of `fxt/2` knows and does (libs/step/SPEC.md §24). */
import type { NetBound, NetParameter, ParameterDraft } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import type { JsonReader } from '../reader.js';

/** A parameter in a step: its values, its exact gradient sum and its state tensors. @typeParam T bigints, or a name */
export interface Moved<T> {
  readonly parameter: NetParameter;
  readonly W: T;
  /** In a graph what `rowSum` of the emitter handed out, or a tensor. */
  readonly D: T;
  /** In the order of `states`. */
  readonly state: readonly T[];
}

export type Updated<T> = Pick<Moved<T>, 'W' | 'state'>;

/** @typeParam M its members with every default written out, as canonical JSON has them */
export interface NetOptimizer<M extends object> {
  readonly members: readonly string[];
  /** @throws Rejection MANIFEST_* */
  parse(read: JsonReader): M;
  /** Whether `w` and `c` are the manifest's; else they follow from fractions of gradients. */
  readonly hasMasters: boolean;
  /** Fraction of a master that follows from its gradient's; for those without `hasMasters`. */
  fraction?(optimizer: M, draft: ParameterDraft): number;
  /** Names of the tensors that it keeps for every parameter, in the order of the state digest. */
  states(optimizer: M): readonly string[];
  bounds(optimizer: M, parameters: readonly NetParameter[]): readonly NetBound[];
  /** Numbers that a step is taken with, as many at every step. */
  scalars(optimizer: M, step: number): readonly number[];
  update(optimizer: M, moved: readonly Moved<readonly bigint[]>[], step: number): readonly Updated<readonly bigint[]>[];
  /** @param scalars names of float64 scalars, one for each of `scalars` */
  emit(
    e: NetEmitter,
    optimizer: M,
    moved: readonly Moved<string>[],
    scalars: readonly string[],
  ): readonly Updated<string>[];
  /** Why no step proof covers it. */
  unprovable(optimizer: M): readonly string[];
}
