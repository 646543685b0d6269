/** The door of libs/sealing: every key that encrypts, once for enclave, broker, prover and client. */
export { deriveKey, openWithNonce, sealWithNonce } from './aead.js';
export { checkpointKey, openCheckpoint, partialKey, sealCheckpoint, type SealingSecrets } from './checkpoint.js';
export { openDataKey, sealDataKey } from './data-key.js';
export { openResult, sealResult } from './result.js';
export { openShard, sealShard } from './shard.js';
