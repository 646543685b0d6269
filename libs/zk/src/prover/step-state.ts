/** One step of a segment under way: its columns, and the slices of them that the step writes (libs/zk/SPEC.md §4.1). */
import { GuardViolation, type TensorGuard } from '#libs/step';
import type { DoubleRows } from '../commit/backend.js';
import type { Columns } from '../commit/columns.js';
import type { StepShape } from '../commit/layout/shape.js';
import type { Backend } from './backend.js';

export interface SegmentWitness {
  /** Blocks of S that are known before the multiplicities, by name; integers. */
  readonly witness: Columns;
  /** X and Y. */
  readonly data: Columns;
  /** W_l and b_l before and after, padded. */
  readonly before: Columns;
  readonly after: Columns;
  /**
   * Of several segments, where X is the whole set as it is committed: which superblock of it each segment reads. Absent
   * where X is in the order of the steps.
   */
  readonly superblocks?: readonly number[];
  /** Products that are never committed: Z1 …, ZL, MH1 …, E (ε·ι), Q (ι·S), S. H may have a column of high limbs besides. */
  readonly virtual: Columns;
}

/** Columns of zeros for the executor to write to. */
export type SegmentRoom = Pick<SegmentWitness, 'witness' | 'data' | 'virtual' | 'superblocks'>;

/** Everything one step reads and writes. */
export interface StepState {
  readonly backend: Backend;
  readonly shape: StepShape;
  readonly columns: SegmentWitness;
  readonly guards: ReadonlyMap<string, TensorGuard>;
  /** Position t of the step in the columns, its number in the job and its m_t. */
  readonly t: number;
  readonly step: number;
  readonly size: number;
  /** The weights are those of a border, which are in range. */
  readonly isAtBorder: boolean;
  /** The columns are for a proof: products of strayed weights are kept in both limbs. */
  readonly isWitness: boolean;
}

/**
 * The slice of one step of a block [t, unit, b], or [unit, t, b] for the last layer and for data whose inputs come
 * first: rows over b, one per unit.
 */
export interface Slice extends DoubleRows {
  at(unit: number): number;
}

export function slice(state: StepState, columns: Columns, name: string, layer: number): Slice {
  const { shape, t } = state;
  const [T, B, D] = [shape.steps, shape.samples, shape.widths[layer]!];
  const data = column(state, columns, name, T * D * B);
  const unitsFirst = layer === 0 ? shape.inputsFirst : layer === shape.layers.length;
  const at = layer === 0 ? committedStep(T, state.columns.superblocks, t) : t;
  const [start, stride] = unitsFirst ? [at * B, T * B] : [at * D * B, B];
  return { data, start, stride, at: (unit) => start + unit * stride };
}

/** The place of step t among so many in the committed X, given which superblock of the set each segment reads. */
export function committedStep(steps: number, superblocks: readonly number[] | undefined, t: number): number {
  if (superblocks === undefined) return t;
  const length = steps / superblocks.length;
  return superblocks[Math.floor(t / length)]! * length + (t % length);
}

export function rowSlice(state: StepState, columns: Columns, name: string): Float64Array {
  const { steps, samples: B } = state.shape;
  return column(state, columns, name, steps * B).subarray(state.t * B, (state.t + 1) * B);
}

function column(state: StepState, columns: Columns, name: string, size: number): Float64Array {
  const known = columns.get(name);
  if (known !== undefined) return known;
  const made = state.backend.doubles(size);
  columns.set(name, made);
  return made;
}

/** Refuses values out of range. */
export function guardOf({ guards, step }: StepState, tensor: string): (value: number) => void {
  const { low, high } = guards.get(tensor)!;
  const [least, most] = [Number(low), Number(high)];
  return (value) => {
    if (value < least || value > most) throw new GuardViolation(step, tensor, `${low}..${high}`, String(value));
  };
}
