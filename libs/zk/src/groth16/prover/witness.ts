/** Inputs of a circuit's witness generator: signal names to decimal strings (libs/zk/src/groth16/SPEC.md §3). */
import { classCount, type Examples, type Weights } from '#libs/step';
import type { CircuitShape } from '../relation/shape.js';
import { packSizes, statementLimbs } from '../relation/signals.js';
import type { Blind } from '../commitment/index.js';

export interface Witness {
  /** Digest of the outer statement, 32 bytes. */
  readonly statement: Uint8Array;
  /** m_t, one per step of the segment. */
  readonly stepSizes: readonly number[];
  /** Weights at the segment's start. */
  readonly weights: Weights;
  /** The superblock's records. */
  readonly examples: Examples;
  readonly blinds: { readonly before: Blind; readonly after: Blind; readonly data: Blind };
}

export type CircuitInputs = Readonly<Record<string, string | readonly string[]>>;

export function circuitInputs({ manifest, tensors }: CircuitShape, witness: Witness): CircuitInputs {
  const { statement, stepSizes, weights, examples, blinds } = witness;
  const classes = classCount(manifest);
  const hot = [...examples.labels].flatMap((label) =>
    Array.from({ length: classes }, (_, c) => (c === label ? '1' : '0')),
  );
  return {
    statement: statementLimbs(statement).map(String),
    sizes: String(packSizes(stepSizes)),
    ...Object.fromEntries(tensors.map(({ name }, i) => [name, Array.from(weights[i]!.values, String)])),
    x: Array.from(examples.features, String),
    hot,
    blind: [blinds.before, blinds.after, blinds.data].map(String),
  };
}
