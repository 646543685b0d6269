/** What a node becomes: rules take what is known of its inputs and say what is known of its outputs. */
import { cannot } from '../errors.js';
import { isConstant, type Constant } from './constant.js';
import type { OnnxNode } from './decode.js';
import type { NetDraft, Value } from './draft.js';
import type { End } from './ops/end.js';

export type Known = Constant | Value;

export interface Scene {
  readonly draft: NetDraft;
  /** Fraction of the edges: what an `eps` or the upper end of an activation is counted in. */
  readonly a: number;
  /** Whether nothing but nodes named in `passing` comes after this tensor, and what makes it may be left to the loss. */
  isLeft(name: string, passing: ReadonlySet<string>): boolean;
  /** Whether nothing but sums and products with constants comes after this tensor. */
  isLast(name: string): boolean;
  /** A node at the end was left out, which the loss does. */
  leaveOut(end: End, node: string): void;
  /** What whoever imports should know: a sentence, told once. */
  tell(message: string): void;
}

export type Rule = (node: OnnxNode, inputs: readonly (Known | undefined)[], scene: Scene) => readonly Known[];

/** @throws NodeRefusal when input `k` is not computed from the record */
export function edgeInput(inputs: readonly (Known | undefined)[], k: number): Value {
  const input = inputs[k];
  if (input === undefined || isConstant(input))
    return cannot(`input ${k} is constant`, 'an input that depends on the record');
  return input;
}

export function constantInput(inputs: readonly (Known | undefined)[], k: number, what: string): Constant {
  const input = inputs[k];
  return input !== undefined && isConstant(input) ? input : cannot(`${what} is not constant`, `a constant ${what}`);
}

export function optionalConstant(
  inputs: readonly (Known | undefined)[],
  k: number,
  what: string,
): Constant | undefined {
  return inputs[k] === undefined ? undefined : constantInput(inputs, k, what);
}
