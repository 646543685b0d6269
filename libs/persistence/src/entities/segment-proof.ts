import { Column, Entity } from 'typeorm';
import { SegmentClaim } from './segment-claim.js';

/** A segment that is being proved, or was. The statement that it shows is that of the receipt row with its first step. */
@Entity('segment_proof')
export class SegmentProof extends SegmentClaim {
  /** Statement document of the verified proof bundle. */
  @Column({ type: 'text', nullable: true })
  document: string | null;

  /** When its last claim was made; null: by a release that did not say. */
  @Column({ type: 'timestamptz', nullable: true })
  claimedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'proved_at', nullable: true })
  doneAt: Date | null;
}
