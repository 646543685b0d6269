import { Column, Entity, PrimaryColumn } from 'typeorm';

export const roles = ['client', 'operator', 'reviewer', 'admin'] as const;
export type Role = (typeof roles)[number];

/** `read` asks, `write` changes what is no key, `keys` makes and revokes keys and sets limits. */
export const scopes = ['read', 'write', 'keys'] as const;
export type Scope = (typeof scopes)[number];

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
