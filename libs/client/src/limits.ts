/** Most bytes of each file that a client reads. */

export const bundleBytesMax = 16 * 1024 * 1024;
export const idxBytesMax = 2 ** 31;
/** A CRL, manifest or other file beside a bundle. */
export const materialBytesMax = 4 * 1024 * 1024;
export const policyBytesMax = 256 * 1024;
export const journalBytesMax = 2 ** 29;
export const tokenizerBytesMax = 64 * 1024 * 1024;
export const keyFileBytesMax = 4096;
/** Weights that a job starts from, and one part of them as it is uploaded. */
export const startPartBytes = 8 * 1024 * 1024;
export const startBytesMax = 64 * startPartBytes;
