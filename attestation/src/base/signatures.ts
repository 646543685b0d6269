/** Signature algorithms this verifier knows, over WebCrypto. Anything not listed here is refused by name. */
import { concatBytes, uintBe, uintFromBe } from './bytes.js';
import { derChildren, derExpect, derInteger, derTag, readDer } from './der.js';
import { Rejection } from './errors.js';

export type SignatureScheme = 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384' | 'rsa-pss-sha384' | 'rsa-pkcs1-sha256';

const curves = {
  'ecdsa-p256-sha256': {
    name: 'P-256',
    hash: 'SHA-256',
    bytes: 32,
    order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  },
  'ecdsa-p384-sha384': {
    name: 'P-384',
    hash: 'SHA-384',
    bytes: 48,
    order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  },
} as const;

/**
 * Checks one signature.
 * @param spki       SubjectPublicKeyInfo, DER
 * @param signature  ECDSA: r ‖ s, big-endian, 64 or 96 bytes; RSA: the signature integer
 * @throws Rejection SIGNATURE_RANGE (r or s is 0 or not below the group order), SIGNATURE_KEY (the key is none of this
 *   scheme), SIGNATURE_MISMATCH (it does not hold)
 * @source FIPS 186-5 §6.4.2; RFC 8017 §8.1.2 with salt length 48
 */
export async function verifySignature(
  scheme: SignatureScheme,
  spki: Uint8Array,
  signature: Uint8Array,
  message: Uint8Array,
): Promise<void> {
  if (scheme === 'ecdsa-p256-sha256' || scheme === 'ecdsa-p384-sha384') checkRange(scheme, signature);
  const { subtle } = globalThis.crypto;
  const { imported, used } = parameters(scheme);
  const key = await subtle.importKey('spki', plain(spki), imported, false, ['verify']).catch(() => {
    throw new Rejection('SIGNATURE_KEY', {
      expected: `a key for ${scheme}`,
      got: 'another key',
      rule: 'attestation/SPEC.md §2',
    });
  });
  if (!(await subtle.verify(used, key, plain(signature), plain(message)))) {
    throw new Rejection('SIGNATURE_MISMATCH', {
      expected: `a signature by this key (${scheme})`,
      got: 'one that does not hold',
      rule: 'attestation/SPEC.md §2',
    });
  }
}

/**
 * SEQUENCE { r INTEGER, s INTEGER } to r ‖ s.
 * @throws Rejection DER_MALFORMED, SIGNATURE_RANGE
 */
export function ecdsaFromDer(der: Uint8Array, scheme: 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384'): Uint8Array {
  const parts = derChildren(derExpect(readDer(der), derTag.sequence));
  const { bytes, order } = curves[scheme];
  const numbers = [derInteger(parts[0]), derInteger(parts[1])];
  if (parts.length !== 2 || numbers.some((n) => n <= 0n || n >= order)) outOfRange();
  return concatBytes(uintBe(numbers[0]!, bytes), uintBe(numbers[1]!, bytes));
}

/** Uncompressed point x ‖ y to a SubjectPublicKeyInfo. @throws Rejection SIGNATURE_KEY on another length */
export function spkiOfPoint(scheme: 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384', point: Uint8Array): Uint8Array {
  if (point.length !== 2 * curves[scheme].bytes) {
    throw new Rejection('SIGNATURE_KEY', { expected: 'x ‖ y', got: `${point.length} bytes`, rule: 'SEC 1 §2.3.3' });
  }
  return concatBytes(spkiPrefix[scheme], point);
}

/** RFC 5480 §2: AlgorithmIdentifier { ecPublicKey, namedCurve } and the head of an uncompressed point. */
const spkiPrefix = {
  'ecdsa-p256-sha256': Uint8Array.of(
    ...[0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48],
    ...[0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04],
  ),
  'ecdsa-p384-sha384': Uint8Array.of(
    ...[0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04],
    ...[0x00, 0x22, 0x03, 0x62, 0x00, 0x04],
  ),
};

function checkRange(scheme: 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384', signature: Uint8Array): void {
  const { bytes, order } = curves[scheme];
  if (signature.length !== 2 * bytes) outOfRange();
  for (const half of [signature.subarray(0, bytes), signature.subarray(bytes)]) {
    const value = uintFromBe(half);
    if (value === 0n || value >= order) outOfRange();
  }
}

function outOfRange(): never {
  throw new Rejection('SIGNATURE_RANGE', {
    expected: '0 < r, s < n',
    got: 'a value outside',
    rule: 'FIPS 186-5 §6.4.2',
  });
}

function parameters(scheme: SignatureScheme) {
  switch (scheme) {
    case 'ecdsa-p256-sha256':
    case 'ecdsa-p384-sha384': {
      const { name, hash } = curves[scheme];
      return { imported: { name: 'ECDSA', namedCurve: name }, used: { name: 'ECDSA', hash } };
    }
    case 'rsa-pss-sha384':
      return { imported: { name: 'RSA-PSS', hash: 'SHA-384' }, used: { name: 'RSA-PSS', saltLength: 48 } };
    case 'rsa-pkcs1-sha256':
      return { imported: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, used: { name: 'RSASSA-PKCS1-v1_5' } };
  }
}

/** WebCrypto's types demand a view on an unshared buffer. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
