import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A sealed data set: its manifest is public to the parties, its shards are ciphertext. */
@Entity('dataset')
export class Dataset {
  @PrimaryColumn({ type: 'text' })
  id: string;

  @Column({ type: 'text' })
  tenant: string;

  @Column({ type: 'jsonb' })
  manifest: unknown;

  /** Dataset root, libs/step/SPEC.md §9; 0x-hexadecimal. */
  @Column({ type: 'text' })
  root: string;

  @Column({ type: 'bigint' })
  records: string;

  @Column({ type: 'int' })
  shards: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** Set when its shards were taken away while ended jobs still name it: their bundles need the manifest. */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;
}

@Entity('dataset_shard')
export class DatasetShard {
  @PrimaryColumn({ type: 'text' })
  @ForeignKey(() => Dataset)
  datasetId: string;

  @PrimaryColumn({ type: 'int' })
  index: number;

  /** SHA-256 of the ciphertext. */
  @Column({ type: 'text' })
  sha256: string;

  @Column({ type: 'int' })
  bytes: number;

  @Column({ type: 'timestamptz', nullable: true })
  uploadedAt: Date | null;
}
