import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const nodeStates = ['ready', 'cordoned', 'draining'] as const;
export type NodeState = (typeof nodeStates)[number];

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

  /** Only a node that is ready is given new jobs; one that drains also hands its jobs back at their next checkpoint. */
  @Column({ type: 'text', default: 'ready' })
  state: NodeState;

  @Column({ type: 'timestamptz' })
  lastSeenAt: Date;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
