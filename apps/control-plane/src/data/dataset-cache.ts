/** Registered data sets, which never change while they are there: the ones last asked for, and what was read out of their manifests. */
import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { parseSealedDataset, type SealedDataset } from '#attestation/records';
import { Dataset, DatasetShard } from '#libs/persistence';

const keptMax = 64;

interface KnownDataset {
  readonly id: string;
  readonly tenant: string;
  /** As it was registered. */
  readonly manifest: unknown;
  readonly sealed: SealedDataset;
}

interface Kept extends KnownDataset {
  /** True once every shard was seen to be there: they go together, and with them what is kept here. */
  isComplete: boolean;
}

@Injectable()
export class DatasetCache {
  /** Least recently asked for first. */
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly database: DataSource) {}

  /** @throws Error when there is none: whoever asks knows better */
  async get(id: string): Promise<KnownDataset> {
    const known = await this.find(id);
    if (known === null) throw new Error(`no data set ${id}`);
    return known;
  }

  async find(id: string): Promise<KnownDataset | null> {
    let known = this.#kept.get(id);
    if (known === undefined) {
      const row = await this.database.manager.findOneBy(Dataset, { id });
      if (row === null) return null;
      const { tenant, manifest } = row;
      known = { id, tenant, manifest, sealed: parseSealedDataset(manifest), isComplete: false };
    }
    this.#kept.delete(id);
    this.#kept.set(id, known);
    if (this.#kept.size > keptMax) this.#kept.delete(this.#kept.keys().next().value!);
    return known;
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }

  /** Shards that were not uploaded yet. */
  async missing(id: string): Promise<number> {
    const known = this.#kept.get(id);
    if (known?.isComplete === true) return 0;
    const missing = await this.database.manager.countBy(DatasetShard, { datasetId: id, uploadedAt: IsNull() });
    if (known !== undefined && missing === 0) known.isComplete = true;
    return missing;
  }
}
