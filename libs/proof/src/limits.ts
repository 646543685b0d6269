/** Bounds on what comes from outside. */
export const proofStatementBytesMax = 8 * 1024 * 1024;
export const proofBundleBytesMax = 256 * 1024 * 1024;
/** Segments that one proof bundle chains. */
export const segmentsMax = 4096;
