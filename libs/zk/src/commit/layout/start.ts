/**
 * The commitment to a job's initial weights: they follow from the job's seed, and so does what hides them
 * (libs/zk/SPEC.md §2.1).
 */
import { concatBytes, keccak, utf8 } from '#attestation/base';
import { manifestDigest, type Manifest } from '#libs/step';

/** Seed of the commitment to the initial weights; nothing about them is secret. */
export function startSeed(manifest: Manifest): Uint8Array {
  return keccak(concatBytes(keccak(utf8('fxt-zk/seed/start/1')), manifestDigest(manifest)));
}
