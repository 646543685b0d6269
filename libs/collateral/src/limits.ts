/** Maxima of every answer, in bytes, and of every wait, in milliseconds. */
export const certificateAnswerMax = 16 * 1024;
export const chainAnswerMax = 256 * 1024;
export const crlAnswerMax = 1024 * 1024;
/** RIM answers carry the XML in base64 inside JSON. */
export const rimAnswerMax = 8 * 1024 * 1024;
export const ocspAnswerMax = 64 * 1024;
export const tcbAnswerMax = 256 * 1024;
/** One certificate chain in an HTTP header, percent-encoded. */
export const chainHeaderMax = 16 * 1024;

export const answerTimeoutMs = 15_000;
export const attemptsMax = 5;
/** Total time that one request may spend waiting between attempts. */
export const waitingMsMax = 90_000;
export const firstBackoffMs = 1_000;
export const backoffMsMax = 30_000;
