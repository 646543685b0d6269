/** Content identifiers of ciphertexts, for whoever fetches them elsewhere: CIDv1, raw, SHA-256, base32. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
/** Version 1, codec raw (0x55), multihash SHA-256 (0x12) of 32 bytes (0x20). */
const head = [0x01, 0x55, 0x12, 0x20];

/**
 * @param sha256  0x and 64 hexadecimal digits
 * @returns `b…`, 59 characters
 * @source multiformats CID, multihash and multibase; RFC 4648 §6 without padding
 */
export function cidOf(sha256: string): string {
  let text = 'b';
  let bits = 0;
  let value = 0;
  for (const byte of [...head, ...Buffer.from(sha256.slice(2), 'hex')]) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(value >> (bits - 5)) & 31];
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + alphabet[(value << (5 - bits)) & 31];
}
