/** What an optimizer of `fxt/2` knows and does (libs/step/SPEC.md §24). */
import type { NetBound, NetParameter, ParameterDraft } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import type { JsonReader } from '../reader.js';

type Integers = readonly bigint[];

/** A parameter in a step: its values, its exact gradient sum and its state tensors. */
export interface Moved {
  readonly parameter: NetParameter;
  readonly W: Integers;
  readonly D: Integers;
  /** In the order of `states`. */
  readonly state: readonly Integers[];
}

type Updated = Pick<Moved, 'W' | 'state'>;

/** A parameter in a graph, or several that are joined, or a slice of one, in one shape. */
export interface EmittedGroup {
  readonly parameters: readonly NetParameter[];
  readonly slice?: { readonly size: number } | undefined;
  /** Values, whole numbers. */
  readonly W: string;
  /** As they are carried: of those that `moved` names as the emitter's `carry` has them. */
  readonly carried: Carried;
  /** By parameter, a name of the emitter's row sums, or a tensor. */
  readonly D: readonly string[];
}

interface Carried {
  readonly W: string;
  /** In the order of `states`. */
  readonly state: readonly string[];
}

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
  update(optimizer: M, moved: readonly Moved[], step: number): readonly Updated[];
  /**
   * Kinds of tensors, '' for parameters, that are whole numbers below 2^51 and carried as the emitter's `carry` has them.
   * Where it stands, the update goes element by element, and a graph joins parameters alike.
   */
  moved?(optimizer: M): readonly string[];
  /** Whether parameters that decay are moved otherwise than the others. */
  decays?(optimizer: M): boolean;
  /** The most that a step moves an element of the parameter away from 0; absent: nobody says. */
  moveMax?(optimizer: M, parameter: NetParameter, step: number): bigint;
  /** @param scalars names of float64 [1], one for each of `scalars` @returns what the next step is handed */
  emit(e: NetEmitter, optimizer: M, groups: readonly EmittedGroup[], scalars: readonly string[]): readonly Carried[];
  /** Why no step proof covers it. */
  unprovable(optimizer: M): readonly string[];
}
