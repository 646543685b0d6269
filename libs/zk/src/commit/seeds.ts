/**
 * Seeds of a job's commitments (libs/zk/SPEC.md §2.1), all from the data key: whoever may read the data can open every
 * commitment of a job and comes to the same bytes. The start is public, so its seed is too.
 */
import { concatBytes, keccak, utf8, word } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { startSeed } from './layout/start.js';

export interface JobSecret {
  readonly jobId: Uint8Array;
  /** 32 bytes. */
  readonly dataKey: Uint8Array;
}

/** Of the weights after `index` segments. @throws RangeError when a border behind the start is asked for without a secret */
export function borderSeed(manifest: Manifest, secret: JobSecret | null, index: number): Uint8Array {
  if (index === 0) return startSeed(manifest);
  if (secret === null) throw new RangeError('only the start has a public seed');
  return seed('weights', secret.dataKey, secret.jobId, word(index));
}

/** Of a superblock: the same for every job on the data set. */
export function dataSeed(dataKey: Uint8Array, superblock: number): Uint8Array {
  return seed('data', dataKey, word(superblock));
}

/** What a prover draws its masks from: a segment that is proved again for the same job gives the same proof. */
export function proverSecret({ dataKey, jobId }: JobSecret): Uint8Array {
  return seed('prover', dataKey, jobId);
}

function seed(purpose: string, ...parts: readonly Uint8Array[]): Uint8Array {
  return keccak(concatBytes(keccak(utf8(`fxt-zk/seed/${purpose}/1`)), ...parts));
}
