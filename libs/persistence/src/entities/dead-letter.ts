import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A message that could not be taken, and what became of it. */
@Entity('dead_letter')
export class DeadLetter {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Column({ type: 'timestamptz' })
  at: Date;

  /** Over what it came: `tcp`, `nats`, or `event` for what replicas tell each other. */
  @Column({ type: 'text' })
  source: 'tcp' | 'nats' | 'event';

  @Column({ type: 'text' })
  pattern: string;

  /** Key id of its sender; null where nobody was recognised. */
  @Column({ type: 'text', nullable: true })
  actor: string | null;

  @Column({ type: 'text' })
  code: string;

  @Column({ type: 'jsonb' })
  reason: unknown;

  /** Its bytes, without the key of its sender, as far as they are kept. */
  @Column({ type: 'bytea' })
  payload: Buffer;

  /** How many there were. */
  @Column({ type: 'int' })
  bytes: number;

  @Column({ type: 'timestamptz', nullable: true })
  replayedAt: Date | null;

  /** `ok`, or the code of the failure. */
  @Column({ type: 'text', nullable: true })
  replayCode: string | null;
}
