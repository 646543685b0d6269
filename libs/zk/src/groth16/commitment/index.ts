/** Door of scheme `fxt-groth16/1`'s commitments: what a data owner, a client and a prover compute. Pure; no toolchain. */
export { blindFrom, commitToData, commitToWeights, type Blind } from './commitment.js';
export { borderBlind, commitmentsOfJob, dataBlind } from './job.js';
