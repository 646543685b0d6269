/** A tensor whose values are known: an initializer, or what follows from constants and shapes. */
import { cannot } from '../errors.js';
import { axesMax, constantElementsMax, elementsMax } from '../limits.js';
import { refuse } from '../errors.js';

export type Kind = 'float' | 'int' | 'bool';

/** Row-major; int64 is exact to 2^53. */
export interface Constant {
  readonly kind: Kind;
  readonly dims: readonly number[];
  readonly values: Float64Array;
}

export function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

export const isConstant = (value: object): value is Constant => 'values' in value;

export function scalarOf(value: Constant, what: string): number {
  if (value.values.length !== 1) cannot(`${what} has ${value.values.length} elements`, 'one number');
  return value.values[0]!;
}

/** @throws NodeRefusal where `dims` are more, or say more, than one tensor may have */
export function checkedDims(dims: readonly number[]): readonly number[] {
  if (dims.length > axesMax) cannot(`${dims.length} axes`, `at most ${axesMax}`);
  for (const size of dims)
    if (!Number.isSafeInteger(size) || size < 0) cannot(`an axis of size ${size}`, 'a size from 0');
  if (sizeOf(dims) > elementsMax) cannot(`a tensor [${dims.join()}]`, `at most ${elementsMax} elements`);
  return dims;
}

/** Row-major strides. */
export function stridesOf(dims: readonly number[]): number[] {
  const strides: number[] = new Array<number>(dims.length).fill(1);
  for (let k = dims.length - 2; k >= 0; k--) strides[k] = strides[k + 1]! * dims[k + 1]!;
  return strides;
}

/** An axis counted from the end where it is negative. */
export function axisOf(axis: number, rank: number): number {
  const index = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(index) || index < 0 || index >= rank)
    cannot(`axis ${axis} of ${rank}`, 'an axis that the tensor has');
  return index;
}

/** What all constants of a file may take together. */
export class ElementBudget {
  #left: number;

  constructor(
    private readonly max = constantElementsMax,
    private readonly what = 'elements in constants',
  ) {
    this.#left = max;
  }

  take(elements: number): void {
    this.#left -= elements;
    if (this.#left < 0) refuse('ONNX_LIMIT', `at most ${this.max} ${this.what}`, 'more');
  }
}
