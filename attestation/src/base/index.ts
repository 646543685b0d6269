/** What every message and every check is made of: bytes, canonical CBOR, COSE, DER, digests, errors with codes. */
export {
  CodedError,
  CollateralError,
  ConfigurationError,
  inWords,
  Rejection,
  reportedError,
  type Explanation,
  type Report,
} from './errors.js';
export {
  compareBytes,
  concatBytes,
  equalBytes,
  fromBase64,
  fromHex,
  fromUtf8,
  isZero,
  toBase64,
  to0x,
  toHex,
  uintBe,
  utf8,
} from './bytes.js';
export { decodeCanonical, encodeCanonical, type CborValue } from './cbor.js';
export { dateOf } from './date.js';
export { readSign1, signSign1, verifySign1 } from './cose.js';
export {
  bytes,
  bytesUpTo,
  checkLength,
  list,
  nullable,
  oneOf,
  record,
  recordWith,
  text,
  toCbor,
  uint,
  type Field,
  type Partially,
  type Shaped,
} from './shape.js';
export { addressOfPublicKey, recoverAddress, signRecoverable } from './address.js';
export { exactBytes, keccak, taggedDigest, word, type Digest } from './digest.js';
export { workersMax } from './limits.js';
export { ed25519Signer, type Sign1Expectation, type Sign1Header, type UncheckedSign1 } from './cose.js';
export { verifySignature, type SignatureScheme } from './signatures.js';
export {
  checkpointBytesMax,
  checkpointWeightsBytesMax,
  evaluationBytesMax,
  evaluationsMax,
  proofBytesMax,
  proofDocumentCharactersMax,
  samplesMax,
  stateBytesMax,
} from './limits.js';
export { certTableEndorsements, parseCertTable, type CertTableEntry, type CertTableRole } from './cert-table.js';
export { readPem } from './pem.js';
