import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Job } from './job.js';
import { NodeRecord } from './node.js';

/** A segment that is being proved, or was. The statement that it shows is that of the receipt row with its first step. */
@Entity('segment_proof')
export class SegmentProof {
  @PrimaryColumn({ type: 'text' })
  @ForeignKey(() => Job)
  jobId: string;

  @PrimaryColumn({ type: 'int' })
  index: number;

  /** Who claimed it last. */
  @Column({ type: 'uuid' })
  @ForeignKey(() => NodeRecord)
  nodeId: string;

  /** Number of that claim. */
  @Column({ type: 'int' })
  fence: number;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  /** SHA-256 of the verified proof bundle; null until then. */
  @Column({ type: 'text', nullable: true })
  blob: string | null;

  /** Its statement document. */
  @Column({ type: 'text', nullable: true })
  document: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  provedAt: Date | null;
}
