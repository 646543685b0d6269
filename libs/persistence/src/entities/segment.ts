import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Job } from './job.js';
import { NodeRecord } from './node.js';
import { SegmentClaim } from './segment-claim.js';

/** An enclave session that may train segments of a data-parallel job: its evidence, accepted, and the key broker's release. */
@Entity('worker')
@Index(['jobId', 'nodeId'])
export class Worker {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @Column({ type: 'uuid' })
  @ForeignKey(() => NodeRecord)
  nodeId: string;

  /** The evidence envelope as it came. */
  @Column({ type: 'bytea' })
  evidence: Buffer;

  /** Ed25519 public key that signs this session's receipts. */
  @Column({ type: 'bytea' })
  receiptKey: Buffer;

  /** Unix time of the appraisal. */
  @Column({ type: 'bigint' })
  at: string;

  /** The public part of its key release. */
  @Column({ type: 'jsonb' })
  release: Record<string, unknown>;

  /** The broker's attestation result. */
  @Column({ type: 'bytea' })
  result: Buffer;

  /** The broker's account over `resultDigest`, 0x-hexadecimal; null: stored before it was told. */
  @Column({ type: 'text', nullable: true })
  resultSignature: string | null;

  /** Digest of the endorsements that the verdict rested on; null: stored before they were kept. */
  @Column({ type: 'text', nullable: true })
  endorsements: string | null;

  /** GPUs of the session, by the ids of their vendor. */
  @Column({ type: 'jsonb', default: [] })
  devices: string[];

  /** Until when the key broker relies on the session; null: joined before this was kept. */
  @Column({ type: 'timestamp with time zone', nullable: true })
  attestedUntil: Date | null;
}

/** A segment of a data-parallel job that is being trained, or was; its blob is the sealed partial. */
@Entity('worker_segment')
export class WorkerSegment extends SegmentClaim {
  /** Whose session signed. */
  @Column({ type: 'uuid', nullable: true })
  @ForeignKey(() => Worker)
  workerId: string | null;

  @Column({ type: 'bytea', nullable: true })
  statement: Buffer | null;

  @Column({ type: 'bytea', nullable: true })
  receipt: Buffer | null;

  @Column({ type: 'timestamptz', nullable: true })
  doneAt: Date | null;
}
