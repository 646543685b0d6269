/** What a manifest `fxt/2` says, and everything that follows from it (libs/step/SPEC.md §21). */
import type { CanonicalValue } from '../canonical-json.js';
import type { Edge, NetLayer, NetParameter } from './edge.js';
import type { Evaluation, Stop } from './evaluation.js';
import type { LabelLayout, LossPlace, NetLoss } from './losses/loss.js';
import type { NetOptimizer } from './optimizers/optimizer.js';

/** Canonical: every default is written out. */
export interface NetManifest {
  readonly fxt: 2;
  /** 0x and 64 lower-case hexadecimal digits. */
  readonly seed: string;
  /** Rows B of one batch. */
  readonly batch: number;
  readonly steps: number;
  readonly order: 'affine';
  /** Blocks per superblock S, a power of two. */
  readonly superblock: number;
  readonly input: NetInput;
  readonly labelShape: readonly number[];
  /** Default fractions of values and errors. */
  readonly a: number;
  readonly g: number;
  /** Fractions of masters and compute copies; absent where the optimizer gives them. */
  readonly w?: number;
  readonly c?: number;
  readonly wint: number;
  readonly overflow: 'saturate' | 'fail';
  readonly layers: readonly Readonly<Record<string, CanonicalValue>>[];
  readonly loss: Readonly<Record<string, CanonicalValue>>;
  readonly optimizer: Readonly<Record<string, CanonicalValue>>;
  readonly start: { readonly kind: 'seed' } | { readonly kind: 'weights'; readonly root: string };
  readonly evaluate: Evaluation | null;
  readonly stop: Stop | null;
}

export type NetInput =
  | { readonly shape: readonly number[]; readonly dtype: 'uint8' | 'int16' | 'int32'; readonly frac: number }
  | { readonly shape: readonly number[]; readonly tokens: true };

/** A manifest with everything that follows from it. */
export interface Net {
  readonly manifest: NetManifest;
  readonly input: Edge;
  readonly layers: readonly NetLayer[];
  readonly output: Edge;
  /** All of them in layer order, `W` before `b`, frozen ones too. */
  readonly parameters: readonly NetParameter[];
  readonly labels: LabelLayout;
  readonly loss: { readonly kind: NetLoss<object>; readonly members: object; readonly place: LossPlace };
  readonly optimizer: { readonly kind: NetOptimizer<object>; readonly members: object };
}
