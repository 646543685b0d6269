import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What happened to a job, for streams that resume. Rows of one job are written while its row is locked, so within a
 * job the order of ids is the order of commits.
 */
@Entity('job_event')
@Index(['jobId', 'id'])
export class JobEvent {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Column({ type: 'text' })
  jobId: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  at: Date;
}

/** A message that must go out because of a change committed in the same transaction. */
@Entity('outbox')
@Index(['id'], { where: '"published_at" IS NULL' })
export class OutboxMessage {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Column({ type: 'text' })
  topic: string;

  /** What the message is about, for example a job id. */
  @Column({ type: 'text' })
  subject: string;

  @Column({ type: 'jsonb' })
  payload: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  publishedAt: Date | null;
}

/** Who did what to what, and how it ended. */
@Entity('audit_log')
@Index('IDX_audit_n', ['n'])
@Index('IDX_audit_unchained', ['id'], { where: 'n IS NULL' })
export class AuditEntry {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Index()
  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text' })
  tenant: string;

  /** API key id, or `system`. */
  @Column({ type: 'text' })
  actor: string;

  @Column({ type: 'text' })
  action: string;

  @Column({ type: 'text' })
  subject: string;

  /** Failure code; null when it succeeded. */
  @Column({ type: 'text', nullable: true })
  code: string | null;

  /** Place in the chain; null until the row is chained, and for rows from before there was one. */
  @Column({ type: 'bigint', nullable: true })
  n: string | null;

  /** SHA-256 of the row before, 0x-hexadecimal. */
  @Column({ type: 'text', nullable: true })
  prev: string | null;
}

/** Where the chain of the audit log ends: one row, locked by whoever makes it longer. */
@Entity('audit_head')
export class AuditHead {
  @PrimaryColumn({ type: 'int' })
  id: number;

  /** Rows in the chain. */
  @Column({ type: 'bigint' })
  n: string;

  /** SHA-256 of the last one; null while there is none. */
  @Column({ type: 'text', nullable: true })
  digest: string | null;

  /** Rows up to this id were there before the chain. */
  @Column({ type: 'bigint' })
  beforeId: string;
}
