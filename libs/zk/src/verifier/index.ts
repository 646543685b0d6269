/** Door of the verifier half: everything an outsider needs to judge a step proof. */
export { verifyStepProof, type VerifiedStepProof } from './verify.js';
export { dataDigestOf, scheduleOf, weightsDigestOf, type Commitment, type StepProofStatement } from './statement.js';
export { proofBytesMax } from './source.js';
export type { Keccak } from '../transcript/keccak.js';
export { derivePlan, type Plan, type Variant } from '../relation/plan.js';
export { openingBudget, profiles, type Profile } from '../params.js';
export { soundness, soundnessBitsMin, type Soundness, type SoundnessTerm } from '../soundness.js';
