import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('node')
@Index(['tenant', 'name'], { unique: true })
export class NodeRecord {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'text' })
  name: string;

  /** Account that is paid, 0x-hexadecimal. */
  @Column({ type: 'text' })
  provider: string;

  @Column({ type: 'jsonb' })
  capabilities: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  lastSeenAt: Date;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
