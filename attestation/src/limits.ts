/** Maxima of every inbound byte string, checked before anything is parsed. Bytes unless the name says otherwise. */

/** One evidence bundle file: evidence, endorsements, policies, receipts, statements. */
export const bundleBytesMax = 16 * 1024 * 1024;
/** One deterministic-CBOR message; larger things travel as raw chunks. */
export const cborBytesMax = 16 * 1024 * 1024;
/** Nesting of arrays, maps and tags in one CBOR message. */
export const cborDepthMax = 16;
/** One COSE_Sign1 message. */
export const coseBytesMax = 1024 * 1024;
/** One X.509 certificate, DER. */
export const certificateBytesMax = 16 * 1024;
/** One CRL, DER. */
export const crlBytesMax = 1024 * 1024;
/** One certificate path, certificates. */
export const pathCertificatesMax = 10;
