import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What is to stand in the transparency log, because of a change committed in the same transaction. The entry is made once
 * and kept before it is submitted, so that asking again gives the same leaf.
 */
@Entity('log_outbox')
@Index('IDX_log_outbox_due', ['nextAt'], { where: '"ended_at" IS NULL' })
@Index('IDX_log_outbox_policy', ['subject'], { unique: true, where: `"kind" = 'policy'` })
@Index('IDX_log_outbox_subject', ['kind', 'subject'])
export class LogOutboxEntry {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  /** As attestation/LOG.md §1 names it: `policy`, `job-bundle` or `journal-head`. */
  @Column({ type: 'text' })
  kind: string;

  /** Digest of the policy; id of the job; rows of the audit log. */
  @Column({ type: 'text' })
  subject: string;

  /** What the entry is made of and nothing else keeps. */
  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;

  /** Null until it is made. */
  @Column({ type: 'bytea', nullable: true })
  entry: Buffer | null;

  /** Of the opening, 32 bytes; null of public entries. */
  @Column({ type: 'bytea', nullable: true })
  salt: Buffer | null;

  @Column({ type: 'bytea', nullable: true })
  body: Buffer | null;

  /** Digest of the bundle that the entry names, 0x-hexadecimal. */
  @Column({ type: 'text', nullable: true })
  bundle: string | null;

  /** tlog-proof under a witnessed checkpoint; null until there is one. */
  @Column({ type: 'text', nullable: true })
  proof: string | null;

  /** Member `log` of the bundle, deterministic CBOR. */
  @Column({ type: 'bytea', nullable: true })
  member: Buffer | null;

  @Column({ type: 'int' })
  attempts: number;

  /** Nobody tries it before. */
  @Column({ type: 'timestamptz' })
  nextAt: Date;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** Why the last attempt brought no proof, or why there is nothing to log. */
  @Column({ type: 'text', nullable: true })
  code: string | null;
}
