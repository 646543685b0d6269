/** libs/proof: chains of step proofs as files and seals, and their verification. Pure. */
export {
  accuracyOuterDigest,
  accuracyPartSeed,
  accuracyPlans,
  accuracyText,
  encodeAccuracyBundle,
  parseAccuracyDocument,
  verifyAccuracyBundle,
  type AccuracyDocument,
  type VerifiedAccuracyBundle,
} from './accuracy.js';
export { accuracyParts } from './accuracy-parts.js';
export { decideAssurance } from './assurance.js';
export { chooseBackend, type BackendChoice, type BackendName } from './backend-choice.js';
export { encodeProofBundle, parseProofBundle } from './bundle.js';
export type { ProofEscrow } from './fields.js';
export { proofBundleBytesMax, proofStatementBytesMax, proverMemoryMiB } from './limits.js';
export { groth16Admission } from './groth16-admission.js';
export {
  readGroth16Document,
  readProofDocument,
  verifyBundledProof,
  verifyBundledProofUnder,
  verifyJobProof,
} from './job-proof.js';
export { choosePlan, explainPlan } from './plan-choice.js';
export { dearestProofCost, proofCost } from './proof-cost.js';
export { largestUnit, proofUnitOf, provenSteps, type ProofUnit } from './proof-unit.js';
export { admitJob, openingContext, openingsOfJob, type JobOpenings } from './openings.js';
export {
  parseProofStatement,
  planOf,
  planOfJob,
  proofStatementText,
  segmentOuterDigest,
  type ProofStatement,
} from './statement.js';
export {
  encodeGroth16Bundle,
  groth16StatementText,
  parseGroth16Bundle,
  parseGroth16Statement,
  type Groth16SegmentData,
  type Groth16Statement,
} from './groth16-statement.js';
export {
  groth16KeyText,
  groth16PlanOf,
  parseGroth16Key,
  verificationKeyOf,
  type Groth16Key,
} from './groth16-key-document.js';
export { verifyGroth16Bundle, type VerifiedGroth16 } from './groth16-verify.js';
export { segmentStatement, verifyProofBundle, type VerifiedProof } from './verify.js';
