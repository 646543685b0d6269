/** libs/proof: chains of step proofs as files and seals, and their verification. Pure. */
export { decideAssurance, type AssuranceDecision, type AssuredJob, type AssuringNode } from './assurance.js';
export { encodeProofBundle, parseProofBundle, zkSelector } from './bundle.js';
export type { ProofEscrow } from './fields.js';
export { proofBundleBytesMax, proofStatementBytesMax, transactionProofBytesMax } from './limits.js';
export { readProofDocument, verifyBundledProof, verifyJobProof } from './job-proof.js';
export { choosePlan, explainPlan, type PlanChoice } from './plan-choice.js';
export { expectedProofBytes } from './proof-size.js';
export { admitJob, openingsOfJob, type JobOpenings } from './openings.js';
export {
  parseProofStatement,
  planOf,
  planOfJob,
  proofStatementText,
  segmentOuterDigest,
  type ProofStatement,
  type SegmentData,
} from './statement.js';
export {
  encodeGroth16Bundle,
  groth16StatementText,
  parseGroth16Bundle,
  parseGroth16Statement,
  type Groth16SegmentData,
  type Groth16Statement,
} from './groth16-statement.js';
export { verifyGroth16Bundle, type KeyPolicy, type VerifiedGroth16 } from './groth16-verify.js';
export { segmentStatement, verifyProofBundle, type VerifiedProof } from './verify.js';
