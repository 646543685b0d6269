/** The door of libs/client. */
export { createApi, type ControlPlaneApi, type ServerEvent } from './api/api.js';
export {
  requireManifest,
  requireRecords,
  requireWeights,
  type RecordFiles,
  type WeightFiles,
} from './bundle/accuracy-openings.js';
export { shardPath } from './dataset/files.js';
export { sealFiles, type SealRequest } from './dataset/seal-files.js';
export { sealData, workFolder, type SealDataRequest } from './dataset/seal-data.js';
export { type Progress, type Watch } from './dataset/watch.js';
export { type BackendWish } from './job/backend.js';
export { openChain, type ClientChain } from './job/chain.js';
export { orderJob } from './job/order.js';
export { takeResult, type SignedFigures } from './job/take-result.js';
export { dischargeGroth16Segments, dischargeSegments } from './job/discharge.js';
export { challengeSegment } from './job/challenge.js';
export { exitEscrow } from './job/exit.js';
export { claim, followJob, type JobView } from './api/follow.js';
export { keepTerms, ownSeed, ownTerms } from './job/record.js';
export { fetchBundle, fetchResult, type CheckedResult } from './job/result.js';
export { settleEscrow } from './job/settle.js';
export { type OwnJob } from './job/same-dataset.js';
export { submitJob, type SubmitRequest, type Submitted } from './job/submit.js';
export { termsFor, type Agreed, type EscrowParties, type OnLapse, type Order } from './job/terms.js';
export { loadProfile, openApi, type Profile } from './api/profile.js';
