/** Session evidence of either form: sessions of former releases did not sign for it. */
import { parseSessionEvidence, type ReportedSession } from '../records/evidence.js';
import { parseFormerSessionEvidence } from '../records/former-evidence.js';

/** First byte of a CBOR map with six members. */
const formerHead = 0xa6;

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function readSession(bytes: Uint8Array): ReportedSession {
  return bytes[0] === formerHead ? parseFormerSessionEvidence(bytes) : parseSessionEvidence(bytes);
}
