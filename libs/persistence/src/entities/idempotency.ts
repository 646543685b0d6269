import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What was answered to a POST under one idempotency key of one tenant. */
@Entity('idempotency')
export class Idempotency {
  @PrimaryColumn({ type: 'text' })
  tenant: string;

  @PrimaryColumn({ type: 'text' })
  key: string;

  /** Method and path. */
  @Column({ type: 'text' })
  request: string;

  @Column({ type: 'bytea' })
  bodyHash: Buffer;

  /** HTTP status of the answer; null while the request runs. */
  @Column({ type: 'int', nullable: true })
  status: number | null;

  @Column({ type: 'jsonb', nullable: true })
  answer: unknown;

  @Index()
  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
