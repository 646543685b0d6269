/** What is signed, hashed or sent for a job: spec, terms, statements, receipts, bundles, and the key broker's words. */
export { bordersRoot, borderPath, bordersMax } from './borders.js';
export {
  appraisalDigest,
  availabilityDigest,
  awardDigest,
  bringsResult,
  deliveryDigest,
  domainSeparator,
  leaseDigest,
  releaseDigest,
  revocationDigest,
  runDigest,
  runKeysDigest,
  runKeysOf,
  segmentDigest,
  teeSelector,
  voucherDigest,
  type Appraisal,
  type Lease,
  type Release,
  type Run,
  type Segment,
  type ContractOnChain,
} from './eip712.js';
export {
  formerAppraisalDigest,
  formerDomainSeparator,
  formerRegistryDomainSeparator,
  formerRunDigest,
  type FormerAppraisal,
  type FormerRun,
} from './former-eip712.js';
export {
  decodeFormerTerms,
  encodeFormerTerms,
  isFormerJson,
  parseFormerTermsJson,
  type FormerTerms,
} from './former-terms.js';
export { escrowIdentity, type EscrowIdentity } from './escrow.js';
export {
  attestorsMax,
  decodeTerms,
  encodeTerms,
  escrowIdOf,
  JobMode,
  parseTermsJson,
  termsJson,
  type Terms,
  type Windows,
} from './terms.js';
export { weightsDigest, type WeightCommitment } from './weight-commitment.js';
export { encodeStepStatement, parseStepStatement, stepStatementDigest, type StepStatement } from './step-statement.js';
export {
  encodeJobSpec,
  jobIdOf,
  jobSpecBytesMax,
  needsTee,
  parseJobSpec,
  progressOf,
  type Assurance,
  type JobSpec,
  type ProgressGrain,
} from './job-spec.js';
export {
  checkpointAssociatedData,
  checkpointKeyInfo,
  checkpointSecret,
  checkpointSessionsMax,
  checkpointPiecesContext,
  encodeCheckpoint,
  encodeCheckpointHead,
  hostSecretOf,
  leaseShape,
  parseCheckpoint,
  readCheckpointHead,
  partialKeyInfo,
  releasedShape,
  type Checkpoint,
  type CheckpointHead,
  type Link,
  type ReleasedSession,
} from './checkpoint.js';
export { closingBond, mayBeProvedInstead } from './lapse.js';
export { clientQuorum, quorumRemedy, type ClientQuorum } from './client-quorum.js';
export { dutySelectorOf, samplesMaxOf, splitProfiles, termsFit, type TermsFacts } from './terms-fit.js';
export { specDigestOf, stepSpecDigest, stepSpecOf, type StepSpec } from './spec-digest.js';
export {
  isNetDataset,
  netShardAssociatedData,
  parseSealedDataset,
  readSealedDataset,
  sealedDatasetJson,
  shardAt,
  shardCount,
  type NetDatasetManifest,
  type SealedDataset,
  type ShardSet,
} from './net-dataset.js';
export {
  datasetManifestBytesMax,
  datasetManifestJson,
  parseDatasetManifest,
  readDatasetManifest,
  shardAssociatedData,
  shardBytesMax,
  shardTagBytes,
  type DatasetManifest,
} from './dataset-manifest.js';
export { encodeBundledLog, parseBundledLog, type BundledEntry, type BundledLog } from './bundle-log.js';
export { bundleDigest, encodeBundle, parseBundle, type BundledSession, type EvidenceBundle } from './bundle.js';
export type { BundledProof } from './bundle-parts.js';
export type { FormerBundle } from './former-bundle.js';
export { clockSkewSeconds, resultDigest } from './attestation-result.js';
export { programDigest, semanticsOf } from './program.js';
export { gpuNonce, keysDigest, reportData, type KeyBinding } from './key-binding.js';
export {
  encodeSessionEvidence,
  expectedGpuNonce,
  expectedReportData,
  parseSessionEvidence,
  sessionEvidenceBytesMax,
  verifySessionProof,
  withSessionProof,
  type ReportedSession,
  type SessionEvidence,
} from './evidence.js';
export {
  encodeDataKey,
  keyReleaseAad,
  keyReleaseInfo,
  parseDataKey,
  proverRequestDigest,
  type DataKey,
} from './key-release.js';
export { challengeMessage, checkChallenge, encodeChallenge, parseChallenge, type Challenge } from './challenge.js';
export {
  encodeFormerSessionEvidence,
  parseFormerSessionEvidence,
  type FormerSessionEvidence,
} from './former-evidence.js';
export {
  chunkBytes,
  chunkListDigest,
  chunksMax,
  chunksOf,
  ciphertextDigest,
  deliveryAssociatedData,
  deliveryHasher,
  deliveryKey,
  deliveryPiecesContext,
  keyCommitment,
  resultChunksMax,
  type DeliveryHasher,
} from './delivery.js';
export {
  encodePiecesHead,
  parsePiecesHead,
  pieceAssociatedData,
  pieceBytes,
  pieceCount,
  pieceRanges,
  piecesHeadBytes,
  piecesKeyInfo,
  sealedPiecesBytes,
  type PiecesHead,
} from './pieces.js';
export {
  checkPartial,
  checkPartials,
  encodeRoundStatement,
  parseRoundStatement,
  partialOf,
  partialsDigest,
  roundStatementDigest,
  signRoundReceipt,
  verifyRoundReceipt,
  workersOf,
  type RoundStatement,
} from './round.js';
export {
  encodeEvaluation,
  metricKinds,
  parseEvaluation,
  signEvaluation,
  verifyEvaluation,
  type EvaluationStatement,
  type Metric,
} from './evaluation.js';
export { evaluatedSteps, evaluationPlanOf, type EvaluationPlan } from './evaluation-plan.js';
export { standingsOf, type StopRule } from './early-stop.js';
export { receiptBytesMax, receiptContentType, signReceipt, verifyReceipt, type VerifiedReceipt } from './receipt.js';
export {
  encodeEndorsements,
  endorsementsMost,
  noEndorsementRecord,
  parseEndorsements,
  type EndorsementRecord,
} from './endorsement-record.js';
