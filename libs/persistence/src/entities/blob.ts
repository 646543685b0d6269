import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A ciphertext in the content-addressed store, once for every tenant that uploaded it. */
@Entity('blob')
export class BlobRecord {
  @PrimaryColumn({ type: 'text' })
  sha256: string;

  @PrimaryColumn({ type: 'text' })
  tenant: string;

  @Column({ type: 'int' })
  bytes: number;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
