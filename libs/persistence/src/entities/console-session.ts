import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApiKey } from './api-key.js';

/** Somebody who signed in to the console with an API key; the cookie itself is never stored. */
@Entity('console_session')
export class ConsoleSession {
  /** SHA-256 of the cookie, hexadecimal. */
  @PrimaryColumn({ type: 'text' })
  digest: string;

  @Index('IDX_console_session_key')
  @Column({ type: 'text' })
  @ForeignKey(() => ApiKey)
  keyId: string;

  @Index('IDX_console_session_created')
  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** To a minute. */
  @Column({ type: 'timestamptz' })
  usedAt: Date;
}
