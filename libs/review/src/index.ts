/** Door of libs/review: what a page and the command line say of a bundle in one voice. Pure. */
export { factsOf, type BundleFacts } from './facts.js';
export { faultOf, type Fault } from './fault.js';
export { headingOf, headings, reasonsOf, statusOrder, type HeadingId } from './heading.js';
export { releaseVersion } from './release.js';
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
  type AppraisalPolicy,
  type BundlePart,
  type BundleVerdict,
  type Check,
  type FieldRow,
} from '#attestation';
export { fromBase64, toHex } from '#attestation/base';
export { sha256Hex } from './bytes.js';
export { bundleBytesMax } from './limits.js';
export { reviewBundle } from './judge.js';
export { startBorder, startParameters, startWeights } from './start.js';
