/** What a key broker signs and seals to one enclave session, without the broker: honest, or wrong wherever a test says. */
import { randomBytes } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { signRecoverable } from '#attestation/base';
import {
  domainSeparator,
  encodeDataKey,
  escrowIdOf,
  keysDigest,
  leaseDigest,
  parseSessionEvidence,
  releaseDigest,
  type DataKey,
  type JobSpec,
  type Lease,
  type Release,
} from '#attestation/records';
import {
  chainId,
  contract,
  jobRequest,
  provider,
  registry,
  sealBytes,
  signingSecret,
  tinyAt,
  tinySession,
  type Attested,
  type TinyJob,
} from './tiny-job.js';

/** Of the escrow that most tests use. */
const ordinary: JobSpec['settlement'] = { chainId, contract };

const domainOf = ({ chainId: id, contract: verifyingContract }: JobSpec['settlement']): Uint8Array =>
  domainSeparator({ chainId: id, verifyingContract });

export interface Granted {
  readonly release: Release;
  readonly signature: Uint8Array;
  readonly sealedKey: Uint8Array;
}

export interface GrantChanges {
  /** Account key that signs. */
  readonly signer?: Uint8Array;
  readonly release?: Partial<Release>;
  readonly dataKey?: Partial<DataKey>;
  /** Sealed instead of a data key. */
  readonly plaintext?: Uint8Array;
  readonly seconds?: number;
}

/** A session opened and attested over a nonce of the test's. @param now milliseconds */
export async function present(now?: () => number): Promise<Attested> {
  const session = tinySession(now);
  await session.request('open', { provider, chainId, registry });
  const evidence = await session.request('attest', { nonce: new Uint8Array(randomBytes(32)) });
  return { session, evidence, parsed: parseSessionEvidence(evidence) };
}

export async function grantTo(
  job: TinyJob,
  { evidence, parsed }: Pick<Attested, 'evidence' | 'parsed'>,
  changes: GrantChanges = {},
): Promise<Granted> {
  const { binding, nonce } = parsed;
  const escrow = escrowIdOf(job.terms);
  const { id } = job.dataset.manifest;
  const plaintext = encodeDataKey({ datasetId: id, key: job.dataset.key, ...changes.dataKey });
  const sealedKey = await sealBytes(changes.plaintext ?? plaintext, { jobId: job.jobId, job: escrow }, binding);
  const release: Release = {
    job: escrow,
    provider: binding.provider,
    dataset: id,
    session: keysDigest(binding),
    key: binding.settlementKey,
    policy: job.terms.policy,
    evidence: sha256(evidence),
    grant: sha256(sealedKey),
    nonce,
    grantedAt: tinyAt,
    notAfter: tinyAt + (changes.seconds ?? 3600),
    ...changes.release,
  };
  return { release, signature: signRelease(release, changes.signer, job.spec.settlement), sealedKey };
}

export function signRelease(release: Release, signer: Uint8Array = signingSecret, settlement = ordinary): Uint8Array {
  return signRecoverable(releaseDigest(domainOf(settlement), release), signer);
}

export function signedLease(lease: Lease, signer: Uint8Array = signingSecret) {
  return { lease, signature: signRecoverable(leaseDigest(domainOf(ordinary), lease), signer) };
}

export interface Keyed extends Attested {
  readonly granted: Granted;
}

/** A session that holds the job and all its shards. */
export async function keyed(job: TinyJob, now?: () => number): Promise<Keyed> {
  const party = await present(now);
  const granted = await grantTo(job, party);
  await party.session.request('job', jobRequest(job, granted));
  for (const [index, ciphertext] of job.dataset.shards.entries()) {
    await party.session.request('shard', { index, ciphertext });
  }
  return { ...party, granted };
}
