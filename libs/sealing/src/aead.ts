/** AES-256-GCM and HKDF-SHA256 of the platform's WebCrypto, with failures that say what was opened. */
import { concatBytes, Rejection } from '#attestation/base';

const nonceBytes = 12;

/** Ciphertext ‖ 16-byte tag. @throws Rejection with `code` when key, nonce, associated data or ciphertext disagree */
export async function open(
  code: string,
  what: string,
  key: Uint8Array,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  associatedData: Uint8Array,
): Promise<Uint8Array> {
  try {
    const plaintext = await crypto.subtle.decrypt(
      { name: 'AES-GCM', iv: plain(nonce), additionalData: plain(associatedData) },
      await aesKey(key, 'decrypt'),
      plain(ciphertext),
    );
    return new Uint8Array(plaintext);
  } catch {
    throw new Rejection(code, {
      expected: `${what} as it was encrypted`,
      got: 'bytes that do not authenticate',
      rule: 'NIST SP 800-38D; enclave/SPEC.md',
      action: 'check that it is the right file, unchanged, and that the key belongs to it',
    });
  }
}

/** @returns ciphertext ‖ 16-byte tag. @param nonce 12 bytes, never used twice under one key */
export async function seal(
  key: Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  associatedData: Uint8Array,
): Promise<Uint8Array> {
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv: plain(nonce), additionalData: plain(associatedData) },
    await aesKey(key, 'encrypt'),
    plain(plaintext),
  );
  return new Uint8Array(sealed);
}

/** Random 12-byte nonce ‖ ciphertext ‖ tag. */
export async function sealWithNonce(
  key: Uint8Array,
  plaintext: Uint8Array,
  associatedData: Uint8Array,
): Promise<Uint8Array> {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  return concatBytes(nonce, await seal(key, nonce, plaintext, associatedData));
}

/** Opens what `sealWithNonce` made. @throws Rejection with `code` */
export function openWithNonce(
  code: string,
  what: string,
  key: Uint8Array,
  sealed: Uint8Array,
  associatedData: Uint8Array,
): Promise<Uint8Array> {
  return open(code, what, key, sealed.subarray(0, nonceBytes), sealed.subarray(nonceBytes), associatedData);
}

/** RFC 5869, 32 bytes out. */
export async function deriveKey(secret: Uint8Array, salt: Uint8Array, info: Uint8Array): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', plain(secret), 'HKDF', false, ['deriveBits']);
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: plain(salt), info: plain(info) }, key, 256),
  );
}

function aesKey(key: Uint8Array, use: 'encrypt' | 'decrypt') {
  return crypto.subtle.importKey('raw', plain(key), 'AES-GCM', false, [use]);
}

/** WebCrypto's types demand a view on an unshared buffer. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
