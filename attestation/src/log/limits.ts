/** Maxima of what comes from logs, witnesses and submitters, checked before anything is parsed. Bytes unless the name says otherwise. */

/** One entry. tlog-tiles allows 65,535. */
export const entryBytesMax = 4096;
/** The body of a sealed entry, in the opening that its owner keeps. */
export const openingBytesMax = 2048;
/** One signed note. */
export const noteCharactersMax = 64 * 1024;
/** Signature lines of one note. */
export const noteSignaturesMax = 64;
/** One tlog-proof. */
export const proofCharactersMax = 16 * 1024;
/** One trust policy. */
export const trustPolicyCharactersMax = 256 * 1024;
/** Logs, witnesses and groups of one trust policy, each. */
export const trustPolicyListMax = 64;
/** Hashes of one inclusion or consistency proof: trees stay below 2^63 leaves. */
export const pathHashesMax = 63;
