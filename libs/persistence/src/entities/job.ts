import { Column, Entity, ForeignKey, Generated, Index, PrimaryColumn } from 'typeorm';
import { Dataset } from './dataset.js';

/** A job's row is the truth about its state; it is locked before anything of the job changes. */
@Entity('job')
@Index(['tenant', 'seq'])
@Index(['state', 'seq'])
@Index('IDX_job_waiting', ['priority', 'rank', 'seq'], { where: `"state" = 'submitted' AND "funded"` })
@Index('IDX_job_attested', ['attestedUntil'], { where: `"state" = 'keyed' OR "state" = 'running'` })
@Index('IDX_job_waiting_class', ['provider', 'assurance', 'requirements', 'priority', 'rank', 'seq'], {
  where: `"state" = 'submitted' AND "funded"`,
})
@Index('IDX_job_start', ['id'], { where: `"start_blobs" IS NOT NULL` })
@Index('IDX_job_waiting_tenant', ['tenant', 'rank'], { where: `"state" = 'submitted'` })
export class Job {
  /** Digest of the job spec, 0x-hexadecimal. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  /** Order of submission; what cursors point at. */
  @Index({ unique: true })
  @Generated('increment')
  @Column({ type: 'bigint' })
  seq: string;

  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'text' })
  state: string;

  /** Why the job waits or ended; null when nothing is to be said. */
  @Column({ type: 'text', nullable: true })
  code: string | null;

  @Column({ type: 'jsonb', nullable: true })
  reason: unknown;

  /** Digest of the terms. */
  @Index({ unique: true })
  @Column({ type: 'text' })
  escrowId: string;

  @Column({ type: 'bytea' })
  spec: Buffer;

  @Column({ type: 'jsonb' })
  terms: Record<string, unknown>;

  /** Account that may take the job, 0x-hexadecimal; zero address: any. */
  @Column({ type: 'text' })
  provider: string;

  @Column({ type: 'bytea' })
  policy: Buffer;

  @Column({ type: 'text' })
  assurance: string;

  @Column({ type: 'text' })
  brokerUrl: string;

  @Column({ type: 'text' })
  @ForeignKey(() => Dataset)
  datasetId: string;

  /** Steps that the manifest demands. */
  @Column({ type: 'bigint' })
  steps: string;

  /** Parts of the weights that it starts from, by SHA-256; null where its manifest's seed draws them. */
  @Column({ type: 'text', array: true, nullable: true })
  startBlobs: string[] | null;

  /** Workers that train a round of it; 1: a plain job. */
  @Column({ type: 'int', default: 1 })
  parallel: number;

  /** Number of the attempt that runs or comes next, from 1. */
  @Column({ type: 'int', default: 1 })
  attempt: number;

  /** Number of the newest lease; a writer with a smaller one is refused. */
  @Column({ type: 'int', default: 0 })
  fence: number;

  /** Leases that ended without a result, one soon after another: each makes the pause before the next longer. */
  @Column({ type: 'int', default: 0 })
  setbacks: number;

  /** No node is given the job earlier. */
  @Column({ type: 'timestamptz', nullable: true })
  notBefore: Date | null;

  @Column({ type: 'uuid', nullable: true })
  leaseId: string | null;

  /** While the job is keyed or running: until when its session's attestation counts; null where nothing was attested. */
  @Column({ type: 'timestamptz', nullable: true })
  attestedUntil: Date | null;

  /** Escrow as last read from the chain at the confirmed block. */
  @Column({ type: 'text', default: 'none' })
  escrowState: string;

  /** True once enough escrow is confirmed: only then may a node take the job. */
  @Column({ type: 'boolean', default: false })
  funded: boolean;

  /** 0 goes first, 9 last. */
  @Column({ type: 'int', default: 5 })
  priority: number;

  /** Place among the waiting jobs of one priority; tenants take turns in it. */
  @Column({ type: 'bigint', default: 0 })
  rank: string;

  /** What a node must offer. */
  @Column({ type: 'jsonb', default: {} })
  requirements: Record<string, unknown>;

  /** What the terms pay, in the token's smallest unit. */
  @Column({ type: 'numeric', precision: 78, scale: 0, default: 0 })
  price: string;

  @Column({ type: 'jsonb', nullable: true })
  progress: unknown;

  @Column({ type: 'text', nullable: true })
  settlementTransaction: string | null;

  /** After this moment no provider can accept the escrow. */
  @Column({ type: 'timestamptz' })
  acceptByAt: Date;

  /** After this moment the job expires unless it was delivered. */
  @Column({ type: 'timestamptz' })
  deadlineAt: Date;

  @Column({ type: 'text', nullable: true })
  idempotencyKey: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;
}
