/** The most that any kind of evidence may have; the readers of attestation/ hold each to its own. */
export const evidenceBytesMax = 1024 * 1024;
