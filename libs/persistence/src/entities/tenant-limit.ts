import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What one tenant may have, where it is not what the settings say for every tenant. */
@Entity('tenant_limit')
export class TenantLimit {
  @PrimaryColumn({ type: 'text' })
  tenant: string;

  /** In the queue; null: as the settings say. */
  @Column({ type: 'int', nullable: true })
  jobsWaitingMax: number | null;

  /** Under leases. */
  @Column({ type: 'int', nullable: true })
  jobsUnderWayMax: number | null;

  /** Of ciphertext of its data sets. */
  @Column({ type: 'bigint', nullable: true })
  datasetBytesMax: string | null;
}
