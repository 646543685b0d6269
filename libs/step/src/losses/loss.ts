/** What a loss knows and does: the faces of libs/step/SPEC.md §5. */
import type { Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';

/** What of a manifest a loss reads: widths, fractions of logits and errors, bits of errors. */
export interface LossSettings {
  readonly dims: readonly number[];
  readonly a: readonly number[];
  readonly g: readonly number[];
  readonly gbits: number;
}

/** A worst case that must stay below a limit. */
export interface Bound {
  readonly rule: 'R1' | 'R2' | 'R3' | 'R4';
  readonly where: string;
  readonly value: bigint;
  readonly limit: bigint;
}

/** G: G_L before its guard, [B, C]; the others are what the loss computes on the way. */
export type LossTrace = Readonly<Record<string, Matrix>> & { readonly G: Matrix };

export interface LossFaces {
  /** Gmax_L: the largest magnitude of its error. */
  readonly errorMax: number;
  /** Whether its error can leave its range, so that a run guards it. */
  readonly isGuarded: boolean;
  bounds(): readonly Bound[];
  gradient(Y: Matrix, labels: ArrayLike<number>): LossTrace;
  /**
   * @param labels name of the int32 labels [B]
   * @returns name of G_L before its guard, float64 [B, C]
   */
  emit(graph: GraphBuilder, Y: string, labels: string): string;
  /** Why no step proof covers it, one sentence each. */
  unprovable(): readonly string[];
  /** One example's figure for progress, from what G_L is with the label's 1 added, and from the sum of its squares. */
  figure(ofLabel: number, squares: number): number;
}

/** @typeParam L what a manifest says of the loss */
export interface LossKind<L> {
  readonly members: readonly string[];
  parse(members: Readonly<Record<string, unknown>>): L;
  /** @throws Rejection MANIFEST_LOSS */
  check(loss: L, g: number): void;
  faces(loss: L, settings: LossSettings): LossFaces;
}
