/** Maxima of what comes from logs, witnesses and submitters, checked before anything is parsed. Bytes unless the name says otherwise. */

/** One signed note. */
export const noteCharactersMax = 64 * 1024;
/** Signature lines of one note. */
export const noteSignaturesMax = 64;
/** One trust policy. */
export const trustPolicyCharactersMax = 256 * 1024;
/** Logs, witnesses and groups of one trust policy, each. */
export const trustPolicyListMax = 64;
