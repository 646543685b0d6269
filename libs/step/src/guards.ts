/**
 * What a run guards, and where: the one table that reference, graph, trainers and provers read (libs/step/SPEC.md §7).
 * A job that can be proved guards what its proofs state and nothing else, so that a run fails exactly where no proof
 * exists.
 */
import { carriedBits } from './bounds.js';
import type { GuardSet } from './guard-set.js';
import { lossOf } from './losses/index.js';
import type { Manifest } from './manifest.js';
import { layerScales } from './scale.js';
import { tensorShapes } from './weights.js';

export interface TensorGuard {
  /** `Y1`, `G1`, `W1`, `b1` … */
  readonly tensor: string;
  readonly low: bigint;
  readonly high: bigint;
  /** The error counts as 0 where the unit's mask is 0. */
  readonly isMasked: boolean;
  /** Counts after the last step of a segment alone. */
  readonly isAtBorder: boolean;
  /** Up to this magnitude float64 carries a step from such weights exactly; of weights and biases. */
  readonly carriedMax: number;
}

/** By tensor, in the order in which a step computes them. */
export function guardTable(m: Manifest, set: GuardSet): ReadonlyMap<string, TensorGuard> {
  const scales = layerScales(m);
  const isProved = set === 'proved';
  const guard = (tensor: string, bits: number, more: Partial<TensorGuard> = {}): TensorGuard => {
    const high = (1n << BigInt(bits)) - 1n;
    const low = isProved ? -high - 1n : -high;
    return { tensor, low, high, isMasked: false, isAtBorder: false, carriedMax: Infinity, ...more };
  };
  const outputs = scales.map(({ layer }) => guard(`Y${layer}`, m.ybits - 1));
  const errors = scales
    .filter(({ isLast }) => !isLast || lossOf(m).isGuarded)
    .map(({ layer, isLast }) => guard(`G${layer}`, m.gbits - 1, { isMasked: isProved && !isLast }))
    .reverse();
  const weights = tensorShapes(m).map(({ name, bits, role: { layer } }) => {
    const carriedMax = 2 ** (bits + carriedBits(m, scales[layer - 1]!));
    return guard(name, bits, { isAtBorder: isProved, carriedMax });
  });
  return new Map([...outputs, ...errors, ...weights].map((entry) => [entry.tensor, entry]));
}

/** Whether the guard counts after this step of the job. */
export function countsAt({ superblock }: Manifest, { isAtBorder }: TensorGuard, step: number): boolean {
  return !isAtBorder || (step + 1) % superblock === 0;
}

/**
 * Steps of a run up to its last border: a job that is proved goes on past its last step with null steps, which move no
 * weight and whose guards count, up to the end of what its last proof covers.
 *
 * @param ofProof steps that one proof covers
 */
export function guardedSteps({ steps, superblock }: Manifest, set: GuardSet, ofProof = superblock): number {
  return set === 'attested' ? steps : Math.ceil(steps / ofProof) * ofProof;
}
