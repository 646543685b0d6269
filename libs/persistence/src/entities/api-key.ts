import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Role, Scope } from '#libs/wire';

/** One API key `vt_<id>_<secret>`; the secret itself is never stored. */
@Entity('api_key')
export class ApiKey {
  @PrimaryColumn({ type: 'text' })
  id: string;

  /** Empty for administrators of every tenant. */
  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'text' })
  role: Role;

  @Column({ type: 'text' })
  name: string;

  /** Account that an operator's nodes are paid to, 0x-hexadecimal; null for other roles. */
  @Column({ type: 'text', nullable: true })
  provider: string | null;

  /** SHA-256 of the secret. */
  @Column({ type: 'bytea' })
  secretHash: Buffer;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  /** From then on it is refused. */
  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  /** What it may do of what its role may; null: all of it. */
  @Column({ type: 'text', array: true, nullable: true })
  scopes: Scope[] | null;
}
