/** Door of libs/review: what a page and the command line say of a bundle in one voice. Pure. */
export { documentFormats, makeDocument, type DocumentFormat, type DocumentInput } from './documents/index.js';
export { readDeclared } from './documents/declared.js';
export { readEcdsaKey } from './documents/dsse.js';
export type { ModelFile } from './documents/model-files.js';
export { isStartOf, policiesAmong, readLogExport } from './beside.js';
export { factsOf, type BundleFacts } from './facts.js';
export { faultOf, type Fault } from './fault.js';
export { readGroth16Key } from './groth16-key.js';
export type { Groth16Key } from '#libs/proof';
export { headingOf, headings, reasonsOf, statusOrder, type HeadingId } from './heading.js';
export {
  differencesOf,
  encodeReport,
  makeReport,
  openReport,
  parseReport,
  readSigningKey,
  signReport,
  type Report,
  type Reviewer,
} from './report.js';
export {
  meanings,
  partsOfBundle,
  readMaterial,
  type MaterialKind,
  type AppraisalPolicy,
  type BundlePart,
  type BundleVerdict,
  type Check,
  type FieldRow,
} from '#attestation';
export { beginsAsBundle, isText, policyFault } from './not-a-bundle.js';
export { fromBase64, toHex } from '#attestation/base';
export { sha256Hex } from './bytes.js';
export { bundleBytesMax, exportBytesMax } from './limits.js';
export { isIdle } from './idle.js';
export { isNeutral, judgedBy } from './judged-by.js';
export { openReview, reviewBundle } from './judge.js';
export type { LogExport } from '#attestation/log';
export { workOf } from './work.js';
export { startBorder, startParameters, startWeights } from './start.js';
