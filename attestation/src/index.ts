/** The judge: whoever must believe evidence comes through this door, and nobody else. */
export { type SeenTransaction } from './verdict/bundle-words.js';
export type { BundledJob, ProofVerifier, ShownByProof, StartOf } from './verdict/bundle-proofs.js';
export { resultsTier } from './verdict/bundle-log.js';
export type { ShownLog } from './verdict/shown-log.js';
export { readMaterial, type MaterialKind, type ShownMaterial } from './verdict/material.js';
export { verifyBundle, type BundleRequest, type BundleVerdict } from './verdict/verify-bundle.js';
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
export { launchDigest, type LaunchInput } from './measure/launch-digest.js';
export { cpuSignature, type Vmm } from './measure/vmsa.js';
export { explainMeasurement, type LaunchCandidates, type LaunchDifference } from './measure/explain.js';
export { isAcpiOff } from './measure/acpi.js';
export { enforcingFirmware, enforcingFirmwareName, firmwareLaunch } from './measure/firmware.js';
export {
  measurementOf,
  readGuestManifest,
  signGuestManifest,
  verifyGuestManifest,
  verifyLaunches,
  type GuestManifest,
  type LaunchShape,
  type MeasuredImage,
} from './measure/manifest.js';
export {
  launchKeyDigest,
  makeIdBlock,
  verifyIdBlock,
  type IdBlock,
  type IdBlockValues,
  type LaunchKey,
} from './snp/id-block.js';
export { checkHclBinding, parseHclReport, type HclReport } from './snp/hcl.js';
export { parseCertificate, parsePemCertificates, type Certificate } from './x509/certificate.js';
export { verifyPath, type PathRequest, type VerifiedPath } from './x509/path.js';
export { parseCrl, revocationOf, verifyCrl, type Crl, type RevocationState } from './x509/crl.js';
export {
  openChecks,
  tierOf,
  type Check,
  type CheckRule,
  type CheckStatus,
  type CheckSubject,
  type Tier,
  type TrustClaim,
} from './check/checks.js';
export { meanings, type CheckId } from './check/meanings.js';
export { type Authenticity, type EvidenceKind, type Verified } from './check/verified.js';
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
export { missingPin } from './appraisal/pins.js';
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
export { documentDigest, encodeDocument } from './check/document.js';
export { endorsementsAbout } from './verdict/endorsements-about.js';
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
export { type GpuPolicy } from './appraisal/gpu.js';
export { parsePckExtension, pckExtensionOid, type PckIdentity } from './intel/pck.js';
export { candidateProducts } from './snp/product.js';
export { verifyNvidia, type NvidiaClaims, type NvidiaEvidence } from './nvidia/verify.js';
export { type GpuMode } from './nvidia/mode.js';
export { type OcspAnswer } from './nvidia/ocsp.js';
export { parseReport as parseGpuReport, type ReportField, type SpdmReport } from './nvidia/spdm.js';
export { evidenceKinds, kindOf, type FileKind } from './show/kind.js';
export { evidenceBytesMax } from './show/limits.js';
export type { FieldRow, Section } from './show/fields.js';
export { partsOfBundle, type BundlePart } from './show/bundle.js';
export { readSession } from './show/read-session.js';
export { showEvidence } from './show/show.js';
export { parseGpuEvidence, type GpuEvidenceEntry } from './nvidia/evidence.js';
export { endorsementsOfRecord } from './appraisal/endorsements.js';
export { spelled } from './appraisal/spelling.js';
