/**
 * The hash of transcript and trees. Every function that hashes takes one of these, so that a caller may bring a faster
 * implementation; the default is that of @noble/hashes.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';

/** keccak-256: any bytes to 32 bytes. */
export type Keccak = (message: Uint8Array) => Uint8Array;

export const keccak: Keccak = keccak_256;
