import { Column, ForeignKey, PrimaryColumn } from 'typeorm';
import { Job } from './job.js';
import { NodeRecord } from './node.js';

/** Who works on a segment of a job until when, and what came of it. Each kind of work has a table of its own. */
export abstract class SegmentClaim {
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

  /** SHA-256 of what was delivered and accepted; null until then. */
  @Column({ type: 'text', nullable: true })
  blob: string | null;

  /** When it was accepted; null until then, like all that a kind adds. */
  abstract doneAt: Date | null;
}
