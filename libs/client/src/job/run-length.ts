/** How long the run of a job may take: what its windows must leave room for (contracts/SPEC.md §19). */
import type { JobSpec } from '#attestation/records';
import { chooseBackend } from '#libs/proof';
import { divideSteps, isNet, trainingSeconds, type JobManifest } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';

/** What the client knows better than an estimate by the model's size. */
export interface RunWish {
  /** Hours that one machine trains. */
  readonly runHours?: number | undefined;
  /** In which a segment is proved. */
  readonly proofSeconds?: number | undefined;
}

export interface RunLength {
  /** Seconds of training alone: a node that trains the job again needs them. */
  readonly trainSeconds: number;
  /** Seconds of one segment's proof; 0 where nothing is proved. */
  readonly proofSeconds: number;
  /** Until the run can be committed: nodes without a TEE prove all segments first. */
  readonly runSeconds: number;
}

/** The least that nodes assume of themselves unless their settings say otherwise. */
const proofSecondsLeast = 30;
/** How many times the model's CPU seconds a slow or busy machine with one thread needs. */
const slowness = 4;
const hour = 3600;

/**
 * What nodes say of their speed is not asked: one that calls itself slow would hold the client's money for longer.
 *
 * @throws Rejection JOB_PARALLEL
 */
export function runLength(spec: JobSpec, manifest: JobManifest, isProved: boolean, wish: RunWish = {}): RunLength {
  const { rounds } = divideSteps(manifest, spec);
  const { runHours } = wish;
  const trainSeconds = runHours === undefined ? trainingSeconds(manifest, rounds) : Math.ceil(runHours * hour);
  const proofSeconds = isProved ? (wish.proofSeconds ?? proofEstimate(spec, manifest)) : 0;
  return { trainSeconds, proofSeconds, runSeconds: trainSeconds + rounds * proofSeconds };
}

function proofEstimate({ scheme, proving }: JobSpec, manifest: JobManifest): number {
  if (isNet(manifest)) return 0;
  const isGroth16 = scheme === groth16SchemeId;
  const backend = isGroth16 ? 'groth16' : 'sumcheck';
  const profile = isGroth16 ? 'auto' : (proving?.profile ?? 'auto');
  const wish = { backend, profile, variant: 'separate', onChain: false, ceremony: 'external' } as const;
  const { estimates } = chooseBackend(manifest, wish);
  const { cpuSeconds = 0 } = estimates.find((estimate) => estimate.backend === backend)!;
  return Math.max(proofSecondsLeast, Math.ceil(slowness * cpuSeconds));
}
