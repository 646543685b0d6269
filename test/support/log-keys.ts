/** Keys of test logs and witnesses, and what they sign. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8 } from '#attestation/base';
import {
  cosign,
  leafHash,
  noteKeyText,
  parseCheckpoint,
  parseTrustPolicy,
  signCheckpoint,
  treeRoot,
  type NoteKey,
} from '#attestation/log';

/** The same name gives the same test key; `seed` another of the same name. */
export function logKeyOf(name: string, use: NoteKey['use'] = 'log', seed = name) {
  const secret = sha256(utf8(`test key of ${seed}`));
  const key: NoteKey = { name, use, publicKey: ed25519.getPublicKey(secret) };
  const sign = (text: string): Uint8Array => ed25519.sign(utf8(text), secret);
  const note = (size: number, root: Uint8Array): string => signCheckpoint({ origin: name, size, root }, key, sign);
  return { key, sign, secret, note };
}

/** A log of so many made-up entries with one witness: its checkpoints as it signed them, and as the witness saw them. */
export function seenLogOf(name: string) {
  const log = logKeyOf(name);
  const witness = logKeyOf('witness.example/w', 'witness');
  const rootOf = (size: number): Uint8Array =>
    treeRoot(Array.from({ length: size }, (_, at) => leafHash(utf8(`entry ${at}`))));
  const note = (size: number): string => log.note(size, rootOf(size));
  return {
    ...{ name, rootOf, note },
    policy: parseTrustPolicy(`log ${noteKeyText(log.key)}\nwitness w ${noteKeyText(witness.key)}\nquorum w\n`),
    seen: (size: number): string =>
      note(size) + cosign(parseCheckpoint(note(size)), witness.key, Math.floor(Date.now() / 1000), witness.sign),
  };
}
