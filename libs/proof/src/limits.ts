/** Bounds on what comes from outside. */
/** The statement of one segment's proof. */
export const proofDocumentBytesMax = 64 * 1024;
export const proofStatementBytesMax = 8 * 1024 * 1024;
export const proofBundleBytesMax = 256 * 1024 * 1024;
/** Segments that one proof bundle chains. */
export const segmentsMax = 4096;
/** Parts of a set that one bundle has proofs about. */
export const accuracyPartsMax = 256;
/** Linear memory that a prover has unless its settings say otherwise: what one proof of 1,024 steps of 784-64-10 takes. */
export const proverMemoryMiB = 2560;
/** What mempools take. */
export const transactionBytesMax = 131_072;
/**
 * The longest proof, or part of one, that a transaction of a settlement has room for: calldata around it takes up to 11,000 bytes
 * (contracts/SPEC.md), or more with a long schedule or many segments, which are counted besides.
 */
export const transactionProofBytesMax = 120_000;
