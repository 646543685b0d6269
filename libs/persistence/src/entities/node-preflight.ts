import { Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { NodeRecord } from './node.js';

/** What one preflight of a node's host found, as its operator posted it. */
@Entity('node_preflight')
@Index('IDX_node_preflight_node', ['nodeId', 'id'])
export class NodePreflight {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Column({ type: 'uuid' })
  @ForeignKey(() => NodeRecord)
  nodeId: string;

  @Column({ type: 'timestamptz' })
  postedAt: Date;

  /** API key id. */
  @Column({ type: 'text' })
  postedBy: string;

  @Column({ type: 'jsonb' })
  report: Record<string, unknown>;
}
