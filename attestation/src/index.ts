/** The only door of attestation/: what a third party needs to judge a claim. */
export { CodedError, CollateralError, ConfigurationError, Rejection, type Explanation } from './errors.js';
export { compareBytes, concatBytes, equalBytes, fromHex, fromUtf8, isZero, toHex, uintBe, utf8 } from './bytes.js';
export { decodeCanonical, encodeCanonical, type CborValue } from './cbor.js';
export { readSign1, signSign1, verifySign1 } from './cose.js';
export {
  bytes,
  bytesUpTo,
  checkLength,
  list,
  nullable,
  oneOf,
  record,
  text,
  toCbor,
  uint,
  type Field,
  type Shaped,
} from './shape.js';
export { exactBytes, keccak, taggedDigest, word, type Digest } from './statement/digest.js';
export { weightsDigest, type WeightCommitment } from './statement/weight-commitment.js';
export {
  encodeStepStatement,
  parseStepStatement,
  stepStatementDigest,
  type StepStatement,
} from './statement/step-statement.js';
export {
  encodeJobSpec,
  jobIdOf,
  jobSpecBytesMax,
  parseJobSpec,
  type Assurance,
  type JobSpec,
} from './statement/job-spec.js';
export {
  datasetManifestBytesMax,
  datasetManifestJson,
  parseDatasetManifest,
  readDatasetManifest,
  shardAssociatedData,
  shardBytesMax,
  shardTagBytes,
  type DatasetManifest,
} from './statement/dataset-manifest.js';
export { gpuNonce, keysDigest, reportData, type KeyBinding } from './key-binding.js';
export {
  encodeSessionEvidence,
  expectedGpuNonce,
  expectedReportData,
  parseSessionEvidence,
  sessionEvidenceBytesMax,
  type SessionEvidence,
} from './evidence.js';
export { encodeDataKey, keyReleaseAad, keyReleaseInfo, parseDataKey, type DataKey } from './key-release.js';
export { deliveryAssociatedData, deliveryKey, keyCommitment } from './delivery.js';
export { receiptBytesMax, receiptContentType, signReceipt, verifyReceipt, type VerifiedReceipt } from './receipt.js';
