/** Secrets of a proved job, from two seeds: the data owner's for the data, the client's for the start weights. */
import { concatBytes, keccak, utf8, word } from '#attestation';

/** Seed of a superblock's commitment, for whoever holds the data owner's secret. */
export function dataSeedOf(secret: Uint8Array, superblock: number): Uint8Array {
  return keccak(concatBytes(utf8('veritrain/prover/data'), secret, word(superblock)));
}
