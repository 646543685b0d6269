/** What a loss of `fxt/2` knows and does (libs/step/SPEC.md §23). */
import type { Edge, NetBound } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import type { Metrics } from '../metrics/meter.js';
import type { MemberReader, ReferenceRun } from '../ops/op.js';
import type { IntTensor } from '../tensor.js';

/** What a record holds behind its features. */
export interface LabelLayout {
  /** `class`: 1 or 2 bytes a label; `vector`: a byte for each of 0 or 1; `real`: int32; `tokens`: shares the features' tokens. */
  readonly kind: 'class' | 'vector' | 'real' | 'tokens';
  readonly shape: readonly number[];
  /** A class or token is below; absent for reals. */
  readonly below?: number;
}

/** The output edge that a loss reads, and what the manifest says of its labels. */
export interface LossPlace {
  readonly edge: Edge;
  readonly labelShape: readonly number[];
  readonly isTokens: boolean;
}

/** Progress figures of one step, outside the semantics: names of float64 scalars. */
interface EmittedFigures {
  /** Sum over the labels of the loss in nats, or of squares. */
  readonly loss: string;
  /** Labels that are met. */
  readonly right: string;
}

/** @typeParam M its members with every default written out */
export interface NetLoss<M extends object> {
  readonly members: readonly string[];
  /** @throws Rejection MANIFEST_* */
  parse(read: MemberReader): M;
  /** @throws Rejection MANIFEST_LABEL, MANIFEST_LOSS */
  label(loss: M, at: LossPlace): LabelLayout;
  bounds(loss: M, at: LossPlace): readonly NetBound[];
  /** @param Y [batch, …] @param labels row-major, as records have them @returns G of the output edge */
  gradient(loss: M, at: LossPlace, Y: IntTensor, labels: Int32Array, run: ReferenceRun): IntTensor;
  /** @param labels name of an int32 tensor [batch, …label shape] */
  emit(e: NetEmitter, loss: M, at: LossPlace, Y: string, labels: string): string;
  /** @param G as `emit` returned it */
  emitFigures(e: NetEmitter, loss: M, at: LossPlace, Y: string, G: string, labels: string): EmittedFigures;
  /** Metrics that a manifest may ask for. */
  metrics(loss: M, at: LossPlace): Metrics;
  unprovable(): readonly string[];
}
