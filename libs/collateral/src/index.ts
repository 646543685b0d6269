/** Door of libs/collateral: endorsements and revocation lists from AMD, NVIDIA and Intel, kept on disk. */
export { AmdKds, type SnpKeyKind } from './amd.js';
export { type CollateralCode } from './failure.js';
export { IntelPcs, type PckCa, type SignedAnswer } from './intel.js';
export { NvidiaServices } from './nvidia.js';
export { ocspRequest, type OcspIssuer, type OcspSubject } from './ocsp-request.js';
export { systemPorts, type CollateralPorts } from './ports.js';
export { prefetch, type PrefetchReport } from './prefetch.js';
export { CollateralStore, type Answer, type Item, type StoreSettings } from './store.js';
export { collectEndorsements, type Collected } from './endorse.js';
