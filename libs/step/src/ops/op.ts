/** What an op knows and does: the faces of libs/step/SPEC.md §4, §7 and §10. */
import type { Bound } from '../losses/loss.js';
import type { Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LayerScale } from '../scale.js';

export type ParameterKind = 'weight' | 'bias';

export type ByKind<T> = Readonly<Record<ParameterKind, T>>;

/** A tensor that is trained. */
export interface Parameter {
  /** `W1`, `b1`, `W2` … */
  readonly name: string;
  readonly kind: ParameterKind;
  readonly dims: readonly number[];
  /** Values stay within ±2^bits; so many of the bits are a fraction. */
  readonly bits: number;
  readonly fraction: number;
  /** Start values are drawn from ±startLimit. */
  readonly startLimit: bigint;
}

/** Op with parameters: from an activation A to a pre-activation Y. */
export interface LinearOp {
  parameters(scale: LayerScale): readonly Parameter[];
  /** Its worst cases; `move` is the most that the step sizes between two borders add up to. */
  bounds(scale: LayerScale, batch: number, move: number): readonly Bound[];
  /** @returns Z and its rounding Y before guard, both [B, n_l] */
  forward(scale: LayerScale, A: Matrix, parameters: ByKind<BigInt64Array>): { readonly Z: Matrix; readonly Y: Matrix };
  /** @returns H and its rounding R before guard and mask, both [B, n_{l-1}]; for l ≥ 2 */
  backward(scale: LayerScale, G: Matrix, parameters: ByKind<BigInt64Array>): { readonly H: Matrix; readonly R: Matrix };
  gradients(scale: LayerScale, A: Matrix, G: Matrix): ByKind<Matrix>;
  /** @returns name of what `emitForward` adds to its product: the bias with the half of the rounding, times 2^-s */
  emitAddend(graph: GraphBuilder, scale: LayerScale, bias: string): string;
  /** Inverse of `emitAddend`. @returns `output` */
  emitBias(graph: GraphBuilder, scale: LayerScale, addend: string, output: string): string;
  /** @returns name of Y before guard, float64 [B, n_l] */
  emitForward(graph: GraphBuilder, scale: LayerScale, A: string, weight: string, addend: string): string;
  /** @returns name of R before guard and mask, float64 [B, n_{l-1}] */
  emitBackward(graph: GraphBuilder, scale: LayerScale, G: string, parameters: ByKind<string>): string;
  /** @returns names of the parameters after a step of size m */
  emitUpdate(graph: GraphBuilder, A: string, G: string, m: string, parameters: ByKind<string>): ByKind<string>;
  /**
   * `emitUpdate` with the addend in the place of the bias, of shape [1, n_l].
   *
   * @param A the input's name; with its copy in float32 where float32 is sure to carry A^T·G
   * @param G m·G, the error times the step size
   */
  emitQuickUpdate(
    graph: GraphBuilder,
    scale: LayerScale,
    A: { readonly exact: string; readonly single?: string },
    G: { readonly name: string; readonly rows: number },
    parameters: ByKind<string>,
  ): ByKind<string>;
  /** Its form in the client's model. @returns name of the output */
  emitFloat(graph: GraphBuilder, x: string, parameters: ByKind<string>, output?: string): string;
}

/** Op without parameters: from a pre-activation Y to an activation A of `abits` bits. */
export interface Activation {
  /** @returns A and its derivative M in {0, 1} */
  forward(Y: Matrix, abits: number): { readonly A: Matrix; readonly M: Matrix };
  /** @returns name of A */
  emitForward(graph: GraphBuilder, Y: string, abits: number): string;
  /** @returns name of M ⊙ x */
  emitMasked(graph: GraphBuilder, A: string, x: string, abits: number): string;
  /** Where every Y is at most this, the two quick forms are the same function. */
  quickMax(abits: number): number;
  /** @returns name of A */
  emitQuickForward(graph: GraphBuilder, Y: string): string;
  /** @returns name of M ⊙ x, for integers Y */
  emitQuickMasked(graph: GraphBuilder, Y: string, x: string): string;
  /** Its form in the client's model, for activations of fraction a. @returns name of the output */
  emitFloat(graph: GraphBuilder, x: string, abits: number, a: number): string;
}
