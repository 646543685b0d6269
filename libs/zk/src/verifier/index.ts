/** Door of the verifier half: everything an outsider needs to judge a step proof. */
export { verifyStepProof } from './verify.js';
export { verifyAccuracyProof, type AccuracyStatement } from './accuracy.js';
export { deriveAccuracyPlan } from '../relation/accuracy-plan.js';
export { dataDigestOf, weightsDigestOf, type Commitment } from '../commit/commitment.js';
export { stepBytes, type StepProofStatement } from './statement.js';
export { proofBytesMax } from './source.js';
export { isInTwoParts, splitProof, type SplitProof } from './split.js';
export { verifyStart } from './start.js';
export { checkRoom } from '../commit/layout/room.js';
export { startSeed } from '../commit/layout/start.js';
export type { SoundnessTerm } from '../soundness.js';
export { derivePlan, planBytes, type Plan, type Variant } from '../relation/plan.js';
export { openingBudget, profileNamed, profiles, proverCodeVersion, type Profile } from '../commit/params.js';
export { levelsOf, type Level } from '../relation/levels.js';
export { circuitShape, type CircuitShape } from '../groth16/relation/shape.js';
export { estimateConstraints } from '../groth16/relation/size.js';
export { circuitDigest } from '../groth16/relation/circuit.js';
export {
  groth16DataDigest,
  groth16SchemeId,
  groth16WeightsDigest,
  recordSizes,
  weightLayoutDigest,
} from '../groth16/verifier/digests.js';
export { groth16PlanDigest, keyBytes, keyDigest, parseKey, type Ceremony } from '../groth16/verifier/key.js';
export { signalsOf, type Groth16Segment } from '../groth16/verifier/statement.js';
export { groth16ProofBytes, groth16SecurityBits, groth16Selector, verifyGroth16 } from '../groth16/verifier/verify.js';
