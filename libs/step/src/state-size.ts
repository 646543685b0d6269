/** Whether a job's state at a border can be carried (enclave/SPEC.md, job). */
import { checkpointWeightsBytesMax, Rejection, stateBytesMax } from '#attestation/base';
import type { JobManifest } from './job-manifest.js';
import { parameterCount } from './weights.js';

/** The part of a job spec that says who else opens a checkpoint, which is then one message. */
interface Sharing {
  readonly parallel?: number | undefined;
  readonly proving: object | null;
}

/** @throws Rejection JOB_SIZE with the limit, the state's size and what to do */
export function checkStateSize(manifest: JobManifest, { parallel = 1, proving }: Sharing): void {
  const why = proving !== null ? 'whose steps are proved' : parallel > 1 ? `of ${parallel} workers` : null;
  const max = why === null ? stateBytesMax : checkpointWeightsBytesMax;
  const numbers = parameterCount(manifest);
  if (8 * numbers <= max) return;
  throw new Rejection('JOB_SIZE', {
    expected: `a state of at most ${max} bytes in a job ${why ?? 'of one enclave'}`,
    got: `${8 * numbers} bytes: ${numbers} weights and numbers of the optimizer, 8 bytes each`,
    rule: 'enclave/SPEC.md, job',
    action:
      why === null
        ? 'submit a smaller net, or an optimizer that keeps less'
        : `submit a smaller net, or the job to one enclave without proofs, which carries ${stateBytesMax} bytes`,
  });
}
