/** The door of libs/sealing: every key that encrypts, once for enclave, broker, prover and client. */
export { deriveKey, openWithNonce, sealWithNonce } from './aead.js';
export { checkpointKey, openCheckpoint, partialKey, sealCheckpoint, type SealingSecrets } from './checkpoint.js';
export { openDataKey, sealDataKey } from './data-key.js';
export { openedBytes, type OpenedBytes } from './opened.js';
export { openPieces, sealPieces, type PieceOpener } from './pieces.js';
export { openResult, openResultPieces, sealResult, sealResultPieces } from './result.js';
export { openShard, sealShard } from './shard.js';
