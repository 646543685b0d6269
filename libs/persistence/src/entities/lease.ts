import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Job } from './job.js';
import { NodeRecord } from './node.js';

const leaseStates = ['active', 'done', 'failed', 'refused', 'expired', 'cancelled'] as const;
export type LeaseState = (typeof leaseStates)[number];

/** One attempt of one node at one job. At most one lease of a job is active. */
@Entity('lease')
@Index(['jobId', 'fence'], { unique: true })
@Index(['jobId'], { unique: true, where: `"state" = 'active'` })
@Index(['expiresAt'], { where: `"state" = 'active'` })
@Index('IDX_lease_node', ['nodeId', 'acquiredAt'])
@Index('IDX_lease_refused', ['nodeId'], { where: `"state" = 'refused'` })
@Index('IDX_lease_node_active', ['nodeId'], { where: `"state" = 'active'` })
export class Lease {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @Column({ type: 'uuid' })
  @ForeignKey(() => NodeRecord)
  nodeId: string;

  /** Tenant of the operator. */
  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'int' })
  attempt: number;

  @Column({ type: 'int' })
  fence: number;

  @Column({ type: 'text' })
  state: LeaseState;

  @Column({ type: 'timestamptz' })
  acquiredAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'text', nullable: true })
  endCode: string | null;
}
