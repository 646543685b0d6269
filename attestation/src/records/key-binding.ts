/**
 * How the enclave's session keys are bound into hardware evidence (attestation/EVIDENCE.md rules: one nonce, one set
 * of keys, CPU and GPU reports tied together; contracts/SPEC.md §10: the same bytes can be recomputed on chain).
 */
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8 } from '../base/bytes.js';
import { exactBytes, word } from '../base/digest.js';

export interface KeyBinding {
  /** Ed25519 public key that signs receipts, 32 bytes. */
  readonly receiptKey: Uint8Array;
  /** Ethereum address of the secp256k1 key that signs seals, 20 bytes. */
  readonly settlementKey: Uint8Array;
  /** X25519 public key that data keys are sealed to, 32 bytes. */
  readonly transportKey: Uint8Array;
  /** Account that is paid for this enclave's work, 20 bytes. */
  readonly provider: Uint8Array;
  readonly chainId: number;
  /** The enclave registry on that chain, 20 bytes. */
  readonly registry: Uint8Array;
}

/** SHA-256 over the tag and the fixed-length fields in order. */
export function keysDigest(binding: KeyBinding): Uint8Array {
  return sha256(
    concatBytes(
      utf8('veritrain/keys/v1'),
      exactBytes('receiptKey', binding.receiptKey),
      exactBytes('settlementKey', binding.settlementKey, 20),
      exactBytes('transportKey', binding.transportKey),
      exactBytes('provider', binding.provider, 20),
      word(binding.chainId),
      exactBytes('registry', binding.registry, 20),
    ),
  );
}

/** The nonce that every GPU report must carry: SHA-256(tag ‖ nonce ‖ keysDigest). */
export function gpuNonce(nonce: Uint8Array, binding: KeyBinding): Uint8Array {
  return sha256(concatBytes(utf8('veritrain/gpu/v1'), exactBytes('nonce', nonce), keysDigest(binding)));
}

/**
 * The 64 bytes of REPORT_DATA: SHA-512(tag ‖ nonce ‖ keysDigest ‖ gpuDigest ‖ claimsDigest).
 *
 * @param gpuReports  raw GPU reports in the order of the evidence; none: gpuDigest is 32 zero bytes
 * @param claims      canonical bytes of the guest's own claims (GPU mode and the like); none: 32 zero bytes
 */
export function reportData(
  nonce: Uint8Array,
  binding: KeyBinding,
  gpuReports: readonly Uint8Array[] = [],
  claims: Uint8Array = new Uint8Array(),
): Uint8Array {
  const gpuDigest =
    gpuReports.length === 0 ? new Uint8Array(32) : sha256(concatBytes(...gpuReports.map((r) => sha256(r))));
  const claimsDigest = claims.length === 0 ? new Uint8Array(32) : sha256(claims);
  return sha512(
    concatBytes(utf8('veritrain/cpu/v1'), exactBytes('nonce', nonce), keysDigest(binding), gpuDigest, claimsDigest),
  );
}
