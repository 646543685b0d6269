/** Ethereum accounts of secp256k1 keys. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak } from './digest.js';
import { Rejection } from './errors.js';

/** @param publicKey uncompressed point, 65 bytes (0x04 ‖ x ‖ y) */
export function addressOfPublicKey(publicKey: Uint8Array): Uint8Array {
  return keccak(publicKey.subarray(1)).slice(12);
}

/**
 * The account whose key signed `digest`.
 * @param signature r ‖ s ‖ v, exactly 65 bytes, v of 27 or 28, s in the lower half: one signature has one form
 * @throws Rejection SEAL_SIGNATURE when no key can have signed it
 */
export function recoverAddress(digest: Uint8Array, signature: Uint8Array): Uint8Array {
  try {
    const parsed = secp256k1.Signature.fromBytes(signature.subarray(0, 64)).addRecoveryBit(signature[64]! - 27);
    if (signature.length !== 65 || parsed.hasHighS()) throw new RangeError('another form');
    return addressOfPublicKey(parsed.recoverPublicKey(digest).toBytes(false));
  } catch {
    throw new Rejection('SEAL_SIGNATURE', {
      expected: 'a recoverable secp256k1 signature of 65 bytes',
      got: `${signature.length} bytes that recover no key in this form`,
      rule: 'contracts/SPEC.md §3',
    });
  }
}

/** @returns r ‖ s ‖ v over a 32-byte digest, 65 bytes in the form that `recoverAddress` takes */
export function signRecoverable(digest: Uint8Array, secret: Uint8Array): Uint8Array {
  const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
  const out = new Uint8Array(65);
  out.set(signature.subarray(1));
  out[64] = 27 + signature[0]!;
  return out;
}
