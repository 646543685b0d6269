/**
 * Proves one segment: commits, computes the witness, and has snarkjs make the proof (libs/zk/src/groth16/SPEC.md §5).
 */
import { segmentReference, type Examples, type Weights } from '#libs/step';
import { encodeProof } from '../toolchain/encode.js';
import { runTool, type ToolLimits } from '../toolchain/process.js';
import type { Circuit, ProvingKey } from '../toolchain/store.js';
import { segmentStepSizes } from '../verifier/statement.js';
import { commitToData, commitToWeights, type Blind } from '../commitment/index.js';
import { circuitInputs } from './witness.js';

/** Weights and the field element that hides them: what opens a commitment. */
interface WeightOpening {
  readonly weights: Weights;
  readonly blind: Blind;
}

export interface SegmentWitness {
  readonly before: WeightOpening;
  /** The superblock's records. */
  readonly examples: Examples;
  readonly dataBlind: Blind;
  readonly index: number;
  /** Hides the weights after the segment. */
  readonly afterBlind: Blind;
  /** Digest of the outer statement, given the commitment to the weights after the segment. */
  outerDigest(after: Uint8Array): Uint8Array;
}

export interface Groth16Proof {
  readonly proof: Uint8Array;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly data: Uint8Array;
  /** Opens `after`: the start of the next segment. */
  readonly opening: WeightOpening;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly phases: Readonly<Record<string, number>>;
}

/**
 * @throws GuardViolation GUARD_VIOLATION; Rejection WEIGHTS_*, BATCH_SIZE, GROTH16_WITNESS;
 *   ConfigurationError BACKEND_UNAVAILABLE, GROTH16_TOOL, ZK_MEMORY_EXCEEDED
 */
export async function proveGroth16Segment(
  { shape, wasm }: Pick<Circuit, 'shape' | 'wasm'>,
  { zkey }: Pick<ProvingKey, 'zkey'>,
  witness: SegmentWitness,
  limits: ToolLimits = {},
): Promise<Groth16Proof> {
  const began = { cpu: process.cpuUsage(), at: performance.now() };
  const { before, examples, dataBlind, index } = witness;
  const weights = segmentReference(shape.manifest, before.weights, examples, index);
  const opening = { weights, blind: witness.afterBlind };
  const roots = {
    before: commitToWeights(shape, before.weights, before.blind),
    after: commitToWeights(shape, weights, opening.blind),
    data: commitToData(shape, examples, dataBlind),
  };
  const inputs = circuitInputs(shape, {
    statement: witness.outerDigest(roots.after),
    stepSizes: segmentStepSizes(shape.manifest, index * shape.manifest.superblock),
    weights: before.weights,
    examples,
    blinds: { before: before.blind, after: opening.blind, data: dataBlind },
  });
  const own = process.cpuUsage(began.cpu);
  const commit = (performance.now() - began.at) / 1000;
  const answer = await runTool({ op: 'prove', wasm, zkey, inputs }, limits);
  return {
    ...roots,
    opening,
    proof: encodeProof(answer.proof!),
    cpuSeconds: (own.user + own.system) / 1e6 + answer.cpuSeconds,
    peakBytes: answer.peakBytes,
    phases: { commit, ...answer.phases },
  };
}
