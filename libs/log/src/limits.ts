/** Maxima of what logs and witnesses answer. Bytes. */

/** A full bundle of the largest entries that tlog-tiles allows. */
export const tileBytesMax = 256 * (65_535 + 2);
/** A note, proof, size or problem document. */
export const answerBytesMax = 64 * 1024;
/** A page of names in an object store. */
export const listingBytesMax = 4 * 1024 * 1024;
