/** What a job is: everything that decides its result, in deterministic CBOR. Its digest is the job's identity. */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { taggedDigest, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { workersMax } from '../base/limits.js';
import {
  bytes,
  bytesUpTo,
  checkLength,
  nullable,
  oneOf,
  record,
  recordWith,
  text,
  toCbor,
  uint,
  type Partially,
  type Shaped,
} from '../base/shape.js';
import { evaluationPlanOf } from './evaluation-plan.js';

export const jobSpecBytesMax = 64 * 1024;

/** `sampled`: like `zk`, of as many segments as the terms say, drawn after the run is committed. */
export type Assurance = 'tee' | 'zk' | 'tee+zk' | 'sampled';

/** Whether an enclave signs for the job; else its steps are proved, all or those drawn. */
export function needsTee(assurance: Assurance): boolean {
  return assurance === 'tee' || assurance === 'tee+zk';
}

const jobSpecShape = {
  version: oneOf(1),
  /** Canonical JSON of the manifest, fxt/1 or fxt/2 (libs/step/SPEC.md §3). */
  manifest: bytesUpTo(32 * 1024),
  dataset: record({
    id: bytes(32),
    /** Dataset root under the job's commitment scheme. */
    root: bytes(32),
    records: uint(2 ** 32, 1),
    shards: uint(65_536, 1),
  }),
  /** Steps per checkpoint; the last segment may be shorter. */
  segmentSteps: uint(2 ** 31, 1),
  /** How weights and data are committed to. */
  scheme: oneOf('state-keccak', 'fxt-zk/1', 'fxt-groth16/1'),
  /** Under which step proofs a job is proved; null in scheme `state-keccak`. */
  proving: nullable(
    record({
      /** Name of a profile of libs/zk; `groth16` in scheme `fxt-groth16/1`. */
      profile: text(64),
      /** joint: made by provers alone; separate: the weights were committed by anyone, enclaves included. */
      variant: oneOf('joint', 'separate'),
      /**
       * Of the plan that follows from manifest, profile and variant (libs/zk/SPEC.md §4.5), or of the circuit with its
       * key (libs/zk/src/groth16/SPEC.md §6).
       */
      planDigest: bytes(32),
    }),
  ),
  /** Digest of the appraisal policy that the enclave must meet. */
  policyDigest: bytes(32),
  assurance: oneOf('tee', 'zk', 'tee+zk', 'sampled'),
  /** X25519 public key that the result is encrypted to. */
  recipient: bytes(32),
  settlement: record({ chainId: uint(), contract: bytes(20) }),
  /** Makes two otherwise equal jobs different. */
  salt: bytes(32),
};

/**
 * Members that a spec has only where it uses them, so that one without has the bytes it always had. Workers of a
 * data-parallel job: libs/step/SPEC.md §20.
 */
const optionalShape = {
  parallel: uint(workersMax, 2),
  /**
   * What of the training leaves the enclave while it trains: mean loss and accuracy of every whole step, segment or
   * epoch. Absent: of every epoch.
   */
  progress: record({ every: oneOf('step', 'segment', 'epoch', 'none') }),
  /** The validation set, where the manifest declares evaluations: dataset root, and records. */
  validation: record({ root: bytes(32), records: uint(2 ** 32, 1) }),
};

type Optional = Shaped<typeof optionalShape>;
export type ProgressGrain = Optional['progress']['every'];

export type JobSpec = Shaped<typeof jobSpecShape> & Partially<Optional>;

export function encodeJobSpec(spec: JobSpec): Uint8Array {
  return encodeCanonical(toCbor(spec));
}

/** @throws Rejection CBOR_*, MESSAGE_SHAPE with the path of the field, JOB_PROVING, JOB_PARALLEL, JOB_VALIDATION, JOB_MANIFEST */
export function parseJobSpec(encoded: Uint8Array): JobSpec {
  checkLength('job spec', encoded, jobSpecBytesMax);
  const spec: JobSpec = recordWith(jobSpecShape, optionalShape)(decodeCanonical(encoded), 'job');
  checkProving(spec);
  checkParallel(spec);
  evaluationPlanOf(spec);
  return spec;
}

/** Absent: per epoch, so that no figure is of few records unless the spec asks for it. */
export function progressOf({ progress }: Pick<JobSpec, 'progress'>): ProgressGrain {
  return progress?.every ?? 'epoch';
}

/** Averages are attested, not proved. */
function checkParallel({ parallel, assurance, scheme }: JobSpec): void {
  if (parallel === undefined || (assurance === 'tee' && scheme === 'state-keccak')) return;
  throw new Rejection('JOB_PARALLEL', {
    expected: "assurance 'tee' and scheme 'state-keccak' in a job with workers in parallel",
    got: `assurance '${assurance}', scheme '${scheme}'`,
    rule: 'attestation/SPEC.md, messages',
  });
}

function checkProving({ scheme, proving }: JobSpec): void {
  const named = proving === null ? 'none' : `profile '${proving.profile}', variant '${proving.variant}'`;
  const refuse = (expected: string): never => {
    throw new Rejection('JOB_PROVING', {
      ...{ expected, got: `${named} in scheme '${scheme}'` },
      rule: 'attestation/SPEC.md, messages',
    });
  };
  if ((scheme === 'state-keccak') !== (proving === null)) {
    refuse("job.proving in every scheme but 'state-keccak', and not there");
  }
  const isGroth16 = proving?.profile === 'groth16' && proving.variant === 'joint';
  if ((scheme === 'fxt-groth16/1') !== isGroth16) {
    refuse("profile 'groth16', variant 'joint' in scheme 'fxt-groth16/1' and in no other");
  }
}

export function jobIdOf(spec: JobSpec): Digest {
  return taggedDigest('veritrain/job/v1', encodeJobSpec(spec));
}
