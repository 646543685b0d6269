/** What a job is: everything that decides its result, in deterministic CBOR. Its digest is the job's identity. */
import { decodeCanonical, encodeCanonical } from '../cbor.js';
import { bytes, bytesUpTo, checkLength, oneOf, record, toCbor, uint, type Shaped } from '../shape.js';
import { taggedDigest, type Digest } from './digest.js';

export const jobSpecBytesMax = 64 * 1024;

export type Assurance = 'tee' | 'zk' | 'tee+zk';

const jobSpecShape = {
  version: oneOf(1),
  /** Canonical JSON of the fxt/1 manifest (fixed-point §3). */
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
  /** How weights and data are committed to; `fxt-zk/1` is computed by provers alone. */
  scheme: oneOf('state-keccak', 'fxt-zk/1'),
  /** Digest of the appraisal policy that the enclave must meet. */
  policyDigest: bytes(32),
  assurance: oneOf('tee', 'zk', 'tee+zk'),
  /** X25519 public key that the result is encrypted to. */
  recipient: bytes(32),
  settlement: record({ chainId: uint(), contract: bytes(20) }),
  /** Makes two otherwise equal jobs different. */
  salt: bytes(32),
};

export type JobSpec = Shaped<typeof jobSpecShape>;

export function encodeJobSpec(spec: JobSpec): Uint8Array {
  return encodeCanonical(toCbor(spec));
}

/** @throws Rejection CBOR_* or MESSAGE_SHAPE with the path of the field */
export function parseJobSpec(encoded: Uint8Array): JobSpec {
  checkLength('job spec', encoded, jobSpecBytesMax);
  return record(jobSpecShape)(decodeCanonical(encoded), 'job');
}

export function jobIdOf(spec: JobSpec): Digest {
  return taggedDigest('veritrain/job/v1', encodeJobSpec(spec));
}
