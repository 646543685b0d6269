/** Bounds on what others send a node, bytes. */

/** A key broker's answer, with what its verdict rested on. */
export const brokerAnswerBytesMax = 16 * 1024 * 1024;
/** Shards, checkpoints and proofs: larger than any may be. */
export const storeBodyBytesMax = 16 * 1024 * 1024;
