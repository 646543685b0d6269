/** Bounds on what others send a node, and on what it keeps of their jobs, bytes. */

/** A key broker's answer, with what its verdict rested on. */
export const brokerAnswerBytesMax = 16 * 1024 * 1024;
/** Shards, checkpoints and proofs: larger than any may be. */
export const storeBodyBytesMax = 16 * 1024 * 1024;
/** Opened input and witness of all sampled runs of a prover: a job that does not fit is not staked in. */
export const keptWitnessBytesMax = 4 * 2 ** 30;
