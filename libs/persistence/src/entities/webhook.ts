import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** Where a tenant wants to hear of its jobs. */
@Entity('webhook')
export class Webhook {
  @PrimaryColumn({ type: 'text' })
  id: string;

  @Index()
  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'text' })
  url: string;

  /** HMAC key, 32 bytes: both ends sign with it, so it cannot be stored as a digest. */
  @Column({ type: 'bytea' })
  secret: Buffer;

  /** States that are told; empty: every one. */
  @Column({ type: 'jsonb' })
  states: string[];

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** The receiver said that it is gone (410). */
  @Column({ type: 'timestamptz', nullable: true })
  disabledAt: Date | null;
}

/** One message to one webhook, written in the transaction of what it tells. */
@Entity('webhook_delivery')
@Index(['nextAt'], { where: '"ended_at" IS NULL' })
export class WebhookDelivery {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Index()
  @Column({ type: 'text' })
  webhookId: string;

  /** The body, byte for byte the same at every attempt. */
  @Column({ type: 'text' })
  body: string;

  @Column({ type: 'integer' })
  attempts: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** Not tried before this time. */
  @Column({ type: 'timestamptz' })
  nextAt: Date;

  /** Delivered or given up. */
  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** HTTP status or a code of the last attempt. */
  @Column({ type: 'text', nullable: true })
  lastOutcome: string | null;
}
