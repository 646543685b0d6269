import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Lease } from './lease.js';
import { Worker } from './segment.js';

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

  /** The broker's over its Appraisal (settlement §3), 0x-hexadecimal. */
  @Column({ type: 'text' })
  appraisalSignature: string;

  /** The broker's attestation result. */
  @Column({ type: 'bytea' })
  result: Buffer;
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

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
