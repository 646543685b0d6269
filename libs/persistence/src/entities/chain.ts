import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An event of the settlement contract at a confirmed block. */
@Entity('escrow_event')
@Index(['escrowId', 'blockNumber', 'logIndex'])
export class EscrowEventRecord {
  @PrimaryColumn({ type: 'text' })
  blockHash: string;

  @PrimaryColumn({ type: 'int' })
  logIndex: number;

  @Column({ type: 'int' })
  blockNumber: number;

  @Column({ type: 'text' })
  transaction: string;

  @Column({ type: 'text' })
  escrowId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;
}

/** The last block whose events are stored, one row for every contract. */
@Entity('chain_cursor')
export class ChainCursor {
  /** Chain id and contract address. */
  @PrimaryColumn({ type: 'text' })
  contract: string;

  @Column({ type: 'int' })
  blockNumber: number;

  @Column({ type: 'text' })
  blockHash: string;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;
}
