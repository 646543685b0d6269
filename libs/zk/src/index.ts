/** Door of the prover half: commitments, kernels and proofs. The verifier half has its own door, verifier/. */
export { createEngine, type Engine } from './commit/kernels/index.js';
export { createPool } from './commit/kernels/pool.js';
export type { Backend } from './prover/backend.js';
export { KernelBackend } from './prover/kernel-backend.js';
export type { OpenableCommitment } from './commit/commit.js';
export { commitData, commitWeights } from './prover/commitments.js';
export { proveSegment, type ProverPhase, type SegmentProof, type WeightSecret } from './prover/prove.js';
export { countRight, proveAccuracy } from './prover/prove-accuracy.js';
export { createExactTrainer } from './prover/trainer.js';
