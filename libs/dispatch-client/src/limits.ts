/** Bounds on what others send a node, bytes. */

/** A key broker's answer. */
export const brokerAnswerBytesMax = 2 * 1024 * 1024;
/** Shards, checkpoints and proofs: larger than any may be. */
export const storeBodyBytesMax = 16 * 1024 * 1024;
