/** How one job's borders are committed to, in whichever scheme its spec names. */
import { Rejection, type Digest } from '#attestation/base';
import { weightsDigest, type JobSpec } from '#attestation/records';
import { commitWeights, isNet, type JobManifest, type Weights } from '#libs/step';
import { commitmentSchemeId, weightsDigestOf, type Commitment } from './commitment.js';
import { commitmentFormat, createCommitter } from './committer.js';
import { keccakParts } from './keccak.js';
import { borderSeed, type JobSecret } from './seeds.js';

export type CommittedJob = Pick<JobSpec, 'scheme' | 'proving'>;

export interface JobCommitments {
  /** weightsDigest of the weights after `index` segments. */
  border(index: number, weights: Weights): Digest;
  /** What opens the border's commitment beside the weights: 32 bytes, or none where the weights alone do. */
  seed(index: number): Uint8Array;
}

/**
 * @param secret null for whoever looks at the start alone
 * @throws Rejection STEP_PLAN, JOB_PROVING, COMMITMENT_SCHEME
 */
export function jobCommitments(
  { scheme, proving }: CommittedJob,
  manifest: JobManifest,
  secret: JobSecret | null,
): JobCommitments {
  if (scheme !== commitmentSchemeId) {
    return {
      border: (_index, weights) => weightsDigest(commitWeights(scheme, manifest, weights, keccakParts)),
      seed: () => new Uint8Array(),
    };
  }
  if (proving === null || isNet(manifest)) {
    const got = proving === null ? 'no profile' : 'a manifest of fxt 2, whose steps have no proof';
    throw new Rejection('JOB_PROVING', { expected: 'a profile', got, rule: 'attestation/SPEC.md, messages' });
  }
  const format = commitmentFormat(manifest, proving.profile);
  const committer = createCommitter(format);
  const seed = (index: number): Uint8Array => borderSeed(manifest, secret, index);
  const commitment = (index: number, weights: Weights): Commitment => committer.weights(weights, seed(index));
  return { border: (index, weights) => weightsDigestOf(commitment(index, weights), format), seed };
}
