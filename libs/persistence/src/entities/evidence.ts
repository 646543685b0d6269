import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Lease } from './lease.js';
import { Worker } from './segment.js';

/** What a verdict rested on, canonical CBOR; one row for all that rested on the same. */
@Entity('endorsement_set')
export class EndorsementSet {
  /** SHA-256, 0x-hexadecimal. */
  @PrimaryColumn({ type: 'text' })
  digest: string;

  @Column({ type: 'bytea' })
  bytes: Buffer;
}

/** What an enclave offered as evidence under one lease, and what the job's policy said about it. */
@Entity('verdict')
export class Verdict {
  @PrimaryColumn({ type: 'uuid' })
  @ForeignKey(() => Lease)
  leaseId: string;

  @Column({ type: 'text' })
  jobId: string;

  @Column({ type: 'text' })
  tier: string;

  /** The evidence envelope as it came. */
  @Column({ type: 'bytea' })
  evidence: Buffer;

  @Column({ type: 'jsonb' })
  checks: unknown;

  /** Ed25519 public key that signs this session's receipts; null when the evidence bound none. */
  @Column({ type: 'bytea', nullable: true })
  receiptKey: Buffer | null;

  /** Unix time of the appraisal. */
  @Column({ type: 'bigint' })
  at: string;

  /** Digest of the endorsements that the verdict rested on; null: stored before they were kept. */
  @Column({ type: 'text', nullable: true })
  endorsements: string | null;

  /** GPUs of the session, by the ids of their vendor. */
  @Column({ type: 'jsonb', default: [] })
  devices: string[];
}

/** Fresh evidence of a session at work, and what was found. */
abstract class RenewalColumns {
  /** The broker's, 0x-hexadecimal: each counts once. */
  @PrimaryColumn({ type: 'text' })
  nonce: string;

  @Column({ type: 'text' })
  tier: string;

  @Column({ type: 'bytea' })
  evidence: Buffer;

  @Column({ type: 'jsonb' })
  checks: unknown;

  /** Unix time of the appraisal. */
  @Column({ type: 'bigint' })
  at: string;

  /** Until when the key broker relies on it, unix time. */
  @Column({ type: 'bigint' })
  notAfter: string;

  /** When the key broker decided, unix time; null: stored before Leases were. */
  @Column({ type: 'bigint', nullable: true })
  grantedAt: string | null;

  /**
   * The broker's over its Lease (contracts/SPEC.md §3), 0x-hexadecimal; the release before has its column under that
   * name.
   */
  @Column({ type: 'text', name: 'appraisal_signature' })
  signature: string;

  /** The broker's attestation result. */
  @Column({ type: 'bytea' })
  result: Buffer;

  /** The broker's account over `resultDigest`, 0x-hexadecimal; null: stored before it was told. */
  @Column({ type: 'text', nullable: true })
  resultSignature: string | null;

  /** Digest of the endorsements that the verdict rested on; null: stored before they were kept. */
  @Column({ type: 'text', nullable: true })
  endorsements: string | null;
}

/** Of the session that has a lease. */
@Entity('renewal')
export class Renewal extends RenewalColumns {
  @PrimaryColumn({ type: 'uuid' })
  @ForeignKey(() => Lease)
  leaseId: string;

  @Index('IDX_renewal_job')
  @Column({ type: 'text' })
  jobId: string;
}

/** Of a session that trains segments of a data-parallel job. */
@Entity('worker_renewal')
export class WorkerRenewal extends RenewalColumns {
  @PrimaryColumn({ type: 'uuid' })
  @ForeignKey(() => Worker)
  workerId: string;

  @Index('IDX_worker_renewal_job')
  @Column({ type: 'text' })
  jobId: string;
}

/** What a key broker logged before it gave the data key to a node without a TEE, as that node told it. */
@Entity('prover_key')
export class ProverKey {
  @PrimaryColumn({ type: 'text' })
  jobId: string;

  /** SHA-256 of the entries: provers tell them with every proof. */
  @PrimaryColumn({ type: 'text' })
  digest: string;

  @Column({ type: 'jsonb' })
  logged: Record<string, unknown>[];

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}

/** The public part of a key release, and the broker's attestation result. */
@Entity('key_release')
export class KeyRelease {
  @PrimaryColumn({ type: 'uuid' })
  @ForeignKey(() => Lease)
  leaseId: string;

  @Column({ type: 'text' })
  jobId: string;

  @Column({ type: 'jsonb' })
  release: Record<string, unknown>;

  @Column({ type: 'bytea' })
  result: Buffer;

  /** The broker's account over `resultDigest`, 0x-hexadecimal; null: stored before it was told. */
  @Column({ type: 'text', nullable: true })
  resultSignature: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
