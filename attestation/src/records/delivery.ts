/**
 * Result against payment (contracts/SPEC.md §12). The result is encrypted under a key that needs both the reveal key,
 * which the chain makes public when it pays, and the client's private key; neither side can walk away with both.
 */
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, uintBe, utf8 } from '../base/bytes.js';
import { exactBytes, keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

/**
 * AES-256 key of the result.
 * @param revealKey  32 bytes, made by the enclave, revealed on chain by `finalize`
 * @param shared     X25519 of the enclave's transport key and the client's recipient key, 32 bytes
 */
export function deliveryKey(revealKey: Uint8Array, shared: Uint8Array, jobId: Digest): Uint8Array {
  const secret = concatBytes(exactBytes('revealKey', revealKey), exactBytes('shared', shared));
  return hkdf(sha256, secret, exactBytes('jobId', jobId), utf8('veritrain/delivery/v1'), 32);
}

/** What the chain compares the revealed key with. */
export function keyCommitment(revealKey: Uint8Array): Digest {
  return keccak(exactBytes('revealKey', revealKey));
}

/** One piece of an encrypted result: what the broker stores and the chain publishes at once. */
export const chunkBytes = 98_304;
/** Pieces of the largest result that can be published, 16 MiB. */
export const chunksMax = 171;
/** Pieces of the largest result: a state of `stateBytesMax`, and what encryption adds. */
export const resultChunksMax = 5472;

/** @throws Rejection DELIVERY_SIZE when it is too large to be published piece by piece */
export function chunksOf(ciphertext: Uint8Array): Uint8Array[] {
  checkDeliveryBytes(ciphertext.length, chunksMax);
  const count = Math.ceil(ciphertext.length / chunkBytes);
  return Array.from({ length: count }, (_, i) => ciphertext.subarray(i * chunkBytes, (i + 1) * chunkBytes));
}

/** What the seal binds of the ciphertext. @throws Rejection DELIVERY_SIZE beyond what can be published */
export function ciphertextDigest(ciphertext: Uint8Array): Digest {
  return chunkListDigest(ciphertext.length, chunksOf(ciphertext).map(sha256));
}

/**
 * @param hashes SHA-256 of each chunk in order
 * @throws Rejection DELIVERY_SIZE, DELIVERY_CHUNKS when there are not as many as the length has
 */
export function chunkListDigest(length: number, hashes: readonly Digest[]): Digest {
  checkDeliveryBytes(length, resultChunksMax);
  const count = Math.ceil(length / chunkBytes);
  if (hashes.length !== count)
    throw refused('DELIVERY_CHUNKS', `${count} chunks of ${length} bytes`, `${hashes.length}`);
  const listed = hashes.map((hash) => exactBytes('chunk hash', hash));
  return sha256(concatBytes(utf8('veritrain/chunks/1'), uintBe(length, 8), ...listed));
}

/** The hash of one chunk as it is read. */
interface ChunkHash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

export interface DeliveryHasher {
  /** @throws Rejection DELIVERY_SIZE */
  update(bytes: Uint8Array): void;
  end(): { readonly bytes: number; readonly digest: Digest; readonly hashes: readonly Digest[] };
}

/**
 * `ciphertextDigest` of a ciphertext that is never in memory as a whole.
 * @param makeHash of SHA-256, for whoever has a faster one
 */
export function deliveryHasher(makeHash: () => ChunkHash = () => sha256.create()): DeliveryHasher {
  const hashes: Digest[] = [];
  let [hash, filled, bytes] = [makeHash(), 0, 0];
  const close = (): void => {
    hashes.push(Uint8Array.from(hash.digest()));
    [hash, filled] = [makeHash(), 0];
  };
  return {
    update(given) {
      bytes += given.length;
      checkDeliveryBytes(bytes, resultChunksMax);
      for (let rest = given; rest.length > 0;) {
        const part = rest.subarray(0, chunkBytes - filled);
        hash.update(part);
        filled += part.length;
        rest = rest.subarray(part.length);
        if (filled === chunkBytes) close();
      }
    },
    end() {
      if (filled > 0) close();
      return { bytes, digest: chunkListDigest(bytes, hashes), hashes };
    },
  };
}

function checkDeliveryBytes(length: number, chunks: number): void {
  const max = chunkBytes * chunks;
  if (length <= max) return;
  throw refused('DELIVERY_SIZE', `an encrypted result of at most ${max} bytes`, `${length} bytes`);
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'contracts/SPEC.md §12' });
}

/** Associated data of the result: this job's, ending in these weights. */
export function deliveryAssociatedData(jobId: Digest, last: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/result/v1'), exactBytes('jobId', jobId), exactBytes('last', last));
}

/** The same of each piece of a result in pieces. */
export function deliveryPiecesContext(jobId: Digest, last: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/result/v2'), exactBytes('jobId', jobId), exactBytes('last', last));
}
