import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

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
}
