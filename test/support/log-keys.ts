/** Keys of test logs and witnesses, and what they sign. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8 } from '#attestation/base';
import { signCheckpoint, type NoteKey } from '#attestation/log';

/** The same name gives the same test key; `seed` another of the same name. */
export function logKeyOf(name: string, use: NoteKey['use'] = 'log', seed = name) {
  const secret = sha256(utf8(`test key of ${seed}`));
  const key: NoteKey = { name, use, publicKey: ed25519.getPublicKey(secret) };
  const sign = (text: string): Uint8Array => ed25519.sign(utf8(text), secret);
  const note = (size: number, root: Uint8Array): string => signCheckpoint({ origin: name, size, root }, key, sign);
  return { key, sign, secret, note };
}
