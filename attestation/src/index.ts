/** The only door of attestation/: what a third party needs to judge a claim. */
export {
  CodedError,
  CollateralError,
  ConfigurationError,
  Rejection,
  reportedError,
  type Explanation,
  type Report,
} from './errors.js';
export {
  compareBytes,
  concatBytes,
  equalBytes,
  fromBase64,
  fromHex,
  fromUtf8,
  isZero,
  toBase64,
  toHex,
  uintBe,
  utf8,
} from './bytes.js';
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
export { addressOfPublicKey, recoverAddress, signRecoverable } from './statement/address.js';
export { bordersRoot, borderPath, bordersMax } from './statement/borders.js';
export {
  appraisalDigest,
  availabilityDigest,
  awardDigest,
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
} from './statement/eip712.js';
export {
  formerAppraisalDigest,
  formerDomainSeparator,
  formerRegistryDomainSeparator,
  formerRunDigest,
  type FormerAppraisal,
  type FormerRun,
} from './statement/former-eip712.js';
export {
  decodeFormerTerms,
  encodeFormerTerms,
  isFormerJson,
  parseFormerTermsJson,
  type FormerTerms,
} from './statement/former-terms.js';
export { escrowIdentity, type EscrowIdentity } from './statement/escrow.js';
export {
  attestorsMax,
  decodeTerms,
  encodeTerms,
  jobDigest,
  JobMode,
  parseTermsJson,
  termsJson,
  type Terms,
  type Windows,
} from './statement/terms.js';
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
  needsTee,
  parseJobSpec,
  progressOf,
  type Assurance,
  type JobSpec,
  type ProgressGrain,
} from './statement/job-spec.js';
export {
  checkpointAssociatedData,
  checkpointKeyInfo,
  checkpointSecret,
  checkpointSessionsMax,
  encodeCheckpoint,
  hostSecretOf,
  leaseShape,
  parseCheckpoint,
  partialKeyInfo,
  releasedShape,
  type Checkpoint,
  type Link,
  type ReleasedSession,
} from './checkpoint.js';
export { mayBeProvedInstead } from './lapse.js';
export { clientQuorum, quorumRemedy, type ClientQuorum } from './client-quorum.js';
export { dutySelectorOf, termsFit, type TermsFacts } from './terms-fit.js';
export { specDigestOf, stepSpecDigest, stepSpecOf, type StepSpec } from './statement/spec-digest.js';
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
export {
  bundleDigest,
  encodeBundle,
  parseBundle,
  segmentsOfBundle,
  type AnyBundle,
  type BundledProof,
  type BundledSegment,
  type BundledSession,
  type EvidenceBundle,
} from './bundle.js';
export type { FormerBundle } from './former-bundle.js';
export { clockSkewSeconds, resultDigest, type SeenTransaction } from './bundle-words.js';
export type { BundledJob, ProofVerifier, ShownByProof, StartOf } from './bundle-proofs.js';
export { verifyBundle, type BundleRequest, type BundleVerdict } from './verify-bundle.js';
export { programDigest } from './statement/program.js';
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
  deliveryKey,
  keyCommitment,
} from './delivery.js';
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
export { workersMax } from './limits.js';
export { receiptBytesMax, receiptContentType, signReceipt, verifyReceipt, type VerifiedReceipt } from './receipt.js';
export {
  describeSnpReport,
  parseSnpReport,
  snpFieldsOf,
  snpReportBytes,
  snpReportFields,
  snpSignedBytes,
} from './snp/abi.js';
export { type SnpField, type SnpFieldLine, type SnpReport, type SnpVersion } from './snp/abi.js';
export { hwidBytes, productLayout, snpProducts, type SnpProduct } from './snp/product.js';
export { readTcb, tcbBelow, tcbOffsets, tcbText, type Tcb, type TcbComponent, type TcbLayout } from './snp/tcb.js';
export { guestPolicyBits, platformInfoBits, readGuestPolicy, readPlatformInfo } from './snp/policy.js';
export { type GuestPolicy, type PlatformInfo } from './snp/policy.js';
export { readSnpEndorsement, snpOids, type SnpEndorsement } from './snp/vcek.js';
export { amdIntermediates, amdRoots, type SnpRoot } from './snp/roots.js';
export { kdsChainUrl, kdsCrlUrl, kdsVcekUrl } from './snp/kds.js';
export { certTableEndorsements, parseCertTable, type CertTableEntry, type CertTableRole } from './snp/cert-table.js';
export {
  parseCollateralBundle,
  readPcsResponse,
  type QuoteCollateral,
  type SignedDocument,
} from './intel/collateral.js';
export { appraiseQuote, neutralQuotePolicy, type QuotePolicy } from './intel/policy.js';
export { parseQuote, type Quote, type QuoteBody, type QuoteField } from './intel/quote.js';
export { tcbStatuses, type TcbStatus } from './intel/tcb-info.js';
export { intelRootSpkiSha256, verifyQuote, type QuoteClaims, type QuoteRequest } from './intel/verify.js';
export { appraiseNitro, neutralNitroPolicy, type NitroPolicy } from './nitro/policy.js';
export { nitroRootSpkiSha256, verifyNitro, type NitroClaims, type NitroRequest } from './nitro/verify.js';
export { verifySnp, type SnpClaims, type SnpRequest } from './snp/verify.js';
export { appraiseSnp, neutralSnpPolicy, type SnpPolicy, type TcbFloor } from './snp/appraise.js';
export { type SnpRevocation } from './snp/revocation.js';
export { launchDigest, type LaunchInput } from './snp/launch-digest.js';
export { cpuSignature, type Vmm } from './snp/vmsa.js';
export { verifyIdBlock, type IdBlock } from './snp/id-block.js';
export { checkHclBinding, parseHclReport, type HclReport } from './snp/hcl.js';
export { parseCertificate, parsePemCertificates, type Certificate } from './x509/certificate.js';
export { verifyPath, type PathRequest, type VerifiedPath } from './x509/path.js';
export { parseCrl, revocationOf, verifyCrl, type Crl, type RevocationState } from './x509/crl.js';
export {
  tierOf,
  type Check,
  type CheckStatus,
  type CheckSubject,
  type Tier,
  type TrustClaim,
} from './appraisal/checks.js';
export { type Authenticity, type EvidenceKind, type Verified } from './appraisal/verified.js';
export { endorsementsOfSession, evidenceOfSession, noEndorsements } from './appraisal/evidence.js';
export {
  type CompositeEvidence,
  type CpuEvidence,
  type Endorsements,
  type Evidence,
  type GpuEvidence,
  type SessionBinding,
} from './appraisal/evidence.js';
export {
  checkPolicy,
  neutralPolicy,
  decodePolicy,
  parsePolicy,
  policyJsonSchema,
  signPolicy,
  verifyPolicy,
  type AppraisalPolicy,
} from './appraisal/policy.js';
export { openDemands, type OpenDemand } from './appraisal/demands.js';
export {
  decodeAdvisories,
  parseAdvisories,
  signAdvisories,
  verifyAdvisories,
  type Advisories,
  type Advisory,
  type AdvisoryPolicy,
} from './appraisal/advisories.js';
export { type SuppliedAdvisories } from './appraisal/condemned.js';
export { instanceDifferences, type MachineInstance } from './appraisal/instance.js';
export { documentDigest, encodeDocument } from './appraisal/document.js';
export {
  encodeEndorsements,
  endorsementsMost,
  endorsementsOfRecord,
  noEndorsementRecord,
  parseEndorsements,
  type EndorsementRecord,
} from './endorsement-record.js';
export { endorsementsAbout } from './endorsements-about.js';
export {
  parseReferenceValues,
  signReferenceValues,
  verifyReferenceValues,
  withReferenceValues,
  type ReferenceValues,
} from './appraisal/reference-values.js';
export { appraise, weakestTier, type AppraisalRequest, type AttestationResult } from './appraisal/appraise.js';
export { type Submodule } from './appraisal/submodules.js';
export { earJson, earOf, signResult, trustVector, verifySignedResult, type TrustVector } from './appraisal/result.js';
export { compareAppraisals, type AppraisalComparison, type AppraisalDifference } from './appraisal/compare.js';
export { isAsStated, runSample, sampleVendor, type SampleReport, type SampleVendor } from './samples/index.js';
export { type SampleEntry, type SampleVerdict } from './samples/types.js';
export { ed25519Signer, type Sign1Expectation, type Sign1Header, type UncheckedSign1 } from './cose.js';
export { verifySignature, type SignatureScheme } from './signatures.js';
export { type GpuPolicy } from './appraisal/gpu.js';
export { parsePckExtension, pckExtensionOid, type PckIdentity } from './intel/pck.js';
export { candidateProducts } from './snp/product.js';
export { verifyNvidia, type NvidiaClaims, type NvidiaEvidence } from './nvidia/verify.js';
export { type GpuMode } from './nvidia/mode.js';
export { type OcspAnswer } from './nvidia/ocsp.js';
export { parseReport as parseGpuReport, type ReportField, type SpdmReport } from './nvidia/spdm.js';
export { parseGpuEvidence, type GpuEvidenceEntry } from './nvidia/evidence.js';
export { checkpointWeightsBytesMax } from './limits.js';
