/** Commitments of a job, whichever scheme its spec names: those of libs/zk/commitment, and beside them `fxt-groth16/1`. */
import { isNet, type JobManifest } from '#libs/step';
import {
  borderSeed,
  dataSeed,
  jobCommitments,
  type CommittedJob,
  type JobCommitments,
  type JobSecret,
} from '../../commit/index.js';
import { circuitShape } from '../relation/shape.js';
import { groth16SchemeId, groth16WeightsDigest } from '../verifier/digests.js';
import { blindFrom, commitToWeights, type Blind } from './commitment.js';

/**
 * @param secret null for whoever looks at the start alone
 * @throws Rejection GROTH16_SHAPE, and those of `jobCommitments`
 */
export function commitmentsOfJob(job: CommittedJob, manifest: JobManifest, secret: JobSecret | null): JobCommitments {
  if (job.scheme !== groth16SchemeId || isNet(manifest)) return jobCommitments(job, manifest, secret);
  const shape = circuitShape(manifest);
  const seed = (index: number): Uint8Array => borderSeed(manifest, secret, index);
  return {
    border: (index, weights) => groth16WeightsDigest(shape, commitToWeights(shape, weights, borderBlind(seed(index)))),
    seed,
  };
}

/** @param seed 32 bytes of `borderSeed`: with the weights they open the commitment */
export function borderBlind(seed: Uint8Array): Blind {
  return blindFrom(seed, 'border', 0);
}

/** Of a superblock: the same for every job on the data set. */
export function dataBlind(dataKey: Uint8Array, superblock: number): Blind {
  return blindFrom(dataSeed(dataKey, superblock), 'data', 0);
}
