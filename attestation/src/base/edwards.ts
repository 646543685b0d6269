/**
 * Ed25519 by RFC 8032 §5.1.7, strict: canonical encodings, no key of small order, the equation with the cofactor. What the
 * platform's own verifier takes under such a key holds by that rule too, as its equation without the cofactor demands more
 * and it compares R byte by byte; so its yes counts, twenty times faster, and all else is decided by the slow rule.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { toHex } from './bytes.js';
import { Rejection } from './errors.js';

const algorithm = 'Ed25519';

type PlatformKey = Awaited<ReturnType<typeof globalThis.crypto.subtle.importKey>>;

/** @throws Rejection COSE_KEY where the key has another length */
export function edwardsHolds(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (publicKey.length !== 32) {
    throw new Rejection('COSE_KEY', { expected: '32 bytes', got: `${publicKey.length}`, rule: 'RFC 9052 §4.2' });
  }
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

/** The same answer, sooner where it is yes. @throws as `edwardsHolds` */
export async function edwardsHoldsSoon(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): Promise<boolean> {
  const key = publicKey.length === 32 ? await platformKey(publicKey) : null;
  return (key !== null && (await isTaken(key, signature, message))) || edwardsHolds(signature, message, publicKey);
}

async function isTaken(key: PlatformKey, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
  try {
    return await globalThis.crypto.subtle.verify(algorithm, key, plain(signature), plain(message));
  } catch {
    return false;
  }
}

/** Keys that signed much lately; null: not one that the platform may answer for. */
const known = new Map<string, Promise<PlatformKey | null>>();
const knownMax = 64;

function platformKey(publicKey: Uint8Array): Promise<PlatformKey | null> {
  const name = toHex(publicKey);
  const found = known.get(name);
  if (found !== undefined) return found;
  const key = imported(publicKey.slice());
  if (known.size >= knownMax) known.clear();
  known.set(name, key);
  return key;
}

async function imported(publicKey: Uint8Array): Promise<PlatformKey | null> {
  try {
    if (ed25519.Point.fromBytes(publicKey, false).isSmallOrder()) return null;
    return await globalThis.crypto.subtle.importKey('raw', plain(publicKey), algorithm, false, ['verify']);
  } catch {
    return null;
  }
}

/** WebCrypto's types demand a view on an unshared buffer. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
