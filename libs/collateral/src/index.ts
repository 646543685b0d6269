/** Door of libs/collateral: endorsements and revocation lists from AMD, NVIDIA and Intel, kept on disk. */
export { AmdKds } from './amd.js';
export { IntelPcs } from './intel.js';
export { NvidiaServices } from './nvidia.js';
export { prefetch } from './prefetch.js';
export { CollateralStore, type StoreSettings } from './store.js';
export { collectEndorsements } from './endorse.js';
