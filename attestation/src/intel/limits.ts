/** Maxima of Intel evidence, in bytes. */

/** One quote with its certificate chain; real ones are about 5 KiB. */
export const quoteBytesMax = 32 * 1024;
/** One TCB info or QE identity, JSON text; real ones are below 20 KiB. */
export const collateralTextMax = 256 * 1024;
/** TCB levels, or module identities, in one document. */
export const tcbLevelsMax = 256;
