/** Door of the commitments alone: what an enclave, a data owner and a client compute. No transcript, no prover. */
export { borderSeed, dataSeed, proverSecret, type JobSecret } from './seeds.js';
export { commitmentFormat, createCommitter, isWholeSet } from './committer.js';
export { checkRoom } from './layout/room.js';
export { jobCommitments, type CommittedJob, type JobCommitments } from './job.js';
export { dataDigestOf, weightsDigestOf } from './commitment.js';
export { keccakMany, keccakParts } from './keccak.js';
