/** libs/proof: chains of step proofs as files and seals, and their verification. Pure. */
export { decideAssurance, type AssuranceDecision, type AssuredJob, type AssuringNode } from './assurance.js';
export { encodeProofBundle, parseProofBundle, zkSelector } from './bundle.js';
export { proofBundleBytesMax, proofStatementBytesMax } from './limits.js';
export {
  parseProofStatement,
  planOf,
  proofStatementText,
  segmentOuterDigest,
  type ProofEscrow,
  type ProofStatement,
  type SegmentData,
} from './statement.js';
export { verifyProofBundle, type VerifiedProof } from './verify.js';
