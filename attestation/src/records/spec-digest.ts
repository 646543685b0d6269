/**
 * What Terms.specDigest is: the job id, or for a job in scheme `fxt-zk/1` the digest of its StepSpec, which the verifier
 * of step proofs on chain opens (contracts/SPEC.md §3; contracts/src/verifiers/zk/StepContext.sol).
 */
import { concatBytes, fromHex } from '../base/bytes.js';
import { keccak, taggedDigest, word, type Digest } from '../base/digest.js';
import { jobIdOf, type JobSpec } from './job-spec.js';
import { isCount, manifestMembers, refuseManifest, stepsOf } from './manifest-text.js';
import { programDigest } from './program.js';

/** What a job fixes for all its step proofs, beside the digest of their plan. */
export interface StepSpec {
  /** The job id. */
  readonly jobSpec: Digest;
  readonly manifestDigest: Digest;
  readonly datasetRoot: Digest;
  /** Seed of the order of the data. */
  readonly seed: Digest;
  readonly steps: number;
  readonly recordCount: number;
  /** Step sizes: (first step) · 256 + m, ascending. */
  readonly schedule: readonly number[];
}

/**
 * Whether the spec's planDigest is that of its manifest, profile and variant only libs/zk can tell: whoever signs or
 * funds terms derives the plan and compares.
 *
 * @throws Rejection JOB_MANIFEST when a job in scheme `fxt-zk/1` holds no readable manifest
 */
export function specDigestOf(spec: JobSpec): Digest {
  return spec.proving === null ? jobIdOf(spec) : stepSpecDigest(stepSpecOf(spec), spec.proving.planDigest);
}

export function stepSpecDigest(spec: StepSpec, planDigest: Digest): Digest {
  const { jobSpec, manifestDigest, datasetRoot, seed, steps, recordCount, schedule } = spec;
  const [count, records, sizes] = [word(steps), word(recordCount), keccak(concatBytes(...schedule.map(word)))];
  return taggedDigest('fxt-zk/spec/1', jobSpec, planDigest, manifestDigest, datasetRoot, seed, count, records, sizes);
}

/** @throws Rejection JOB_MANIFEST */
export function stepSpecOf(spec: JobSpec): StepSpec {
  return {
    jobSpec: jobIdOf(spec),
    manifestDigest: programDigest(spec.manifest),
    datasetRoot: spec.dataset.root,
    recordCount: spec.dataset.records,
    ...orderOf(spec.manifest),
  };
}

/** The members of an fxt/1 manifest that order its steps; libs/step judges the rest. */
function orderOf(manifest: Uint8Array): Pick<StepSpec, 'seed' | 'steps' | 'schedule'> {
  const steps = stepsOf(manifest);
  const { seed, optimizer } = manifestMembers(manifest)!;
  if (typeof seed !== 'string' || !/^0x[0-9a-f]{64}$/.test(seed)) refuseManifest('seed: 32 bytes', seed);
  const sizes: unknown = (optimizer as { m?: unknown } | null | undefined)?.m;
  if (!Array.isArray(sizes)) refuseManifest('optimizer.m: a list', sizes);
  const schedule = sizes.map((entry: unknown) => {
    const [from, m] = Array.isArray(entry) && entry.length === 2 ? (entry as unknown[]) : [];
    if (!isCount(from) || !isCount(m) || m > 255) return refuseManifest('optimizer.m: pairs of step and size', entry);
    return from * 256 + m;
  });
  return { seed: fromHex(seed), steps, schedule };
}
