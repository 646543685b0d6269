import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Job } from './job.js';

/** A signed statement about steps [stepFrom, stepTo). */
@Entity('receipt')
export class Receipt {
  @PrimaryColumn({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @PrimaryColumn({ type: 'bigint' })
  stepFrom: string;

  @Column({ type: 'bigint' })
  stepTo: string;

  @Column({ type: 'uuid' })
  leaseId: string;

  @Column({ type: 'int' })
  fence: number;

  @Column({ type: 'bytea' })
  statement: Buffer;

  @Column({ type: 'bytea' })
  receipt: Buffer;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}

/** Encrypted weights after `step` steps; the receipt that ends there names them. */
@Entity('checkpoint')
export class Checkpoint {
  @PrimaryColumn({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @PrimaryColumn({ type: 'bigint' })
  step: string;

  @Column({ type: 'int' })
  fence: number;

  @Column({ type: 'text' })
  blob: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}

/** What the node handed over at the end, and the bundle made of it. */
@Entity('delivery')
export class DeliveryRecord {
  @PrimaryColumn({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @Column({ type: 'uuid' })
  leaseId: string;

  @Column({ type: 'int' })
  fence: number;

  @Column({ type: 'jsonb' })
  delivery: Record<string, unknown>;

  @Column({ type: 'text' })
  resultBlob: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
