/** The digest by which a file is named. */
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '#attestation/base';

export function sha256Hex(bytes: Uint8Array): string {
  return toHex(sha256(bytes));
}
