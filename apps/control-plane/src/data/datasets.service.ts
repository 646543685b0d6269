/** Registered data sets and the upload of their encrypted shards. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { z } from 'zod';
import { to0x } from '#attestation/base';
import { parseSealedDataset, shardAt, shardCount } from '#attestation/records';
import { Dataset, DatasetShard, Job, Lease, NodeRecord, SegmentProof, TenantLimit } from '#libs/persistence';
import { Hex32 } from '#libs/wire';
import { isGlobal, seesTenant, type Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { cidOf } from '../core/objects/cid.js';
import { pageOf } from '../core/paging.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';

export const DatasetView = z
  .object({
    id: Hex32,
    root: Hex32,
    records: z.int(),
    shards: z.array(
      z.object({ index: z.int(), sha256: Hex32, cid: z.string(), bytes: z.int(), uploaded: z.boolean() }),
    ),
    manifest: z.record(z.string(), z.unknown()),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Dataset' });
export type DatasetView = z.infer<typeof DatasetView>;
export const DatasetSummary = z.object({
  id: Hex32,
  root: Hex32,
  records: z.int(),
  shards: z.int(),
  uploaded: z.int(),
  /** Of ciphertext, uploaded or not: what counts against the quota. */
  bytes: z.int(),
  createdAt: z.iso.datetime(),
});
export const DatasetPage = z
  .object({ items: z.array(DatasetSummary), nextCursor: z.string().nullable() })
  .meta({ id: 'DatasetPage' });
export type DatasetPage = z.infer<typeof DatasetPage>;

const rule = 'apps/control-plane/README.md, data sets';

@Injectable()
export class Datasets {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Registering the same manifest again is not a fault. @throws Rejection MESSAGE_SHAPE, DATASET_MANIFEST, DATASET_DUPLICATE */
  async register(principal: Principal, json: Record<string, unknown>): Promise<DatasetView> {
    const manifest = parseSealedDataset(json);
    const id = to0x(manifest.id);
    const createdAt = this.clock.now();
    const row = {
      id,
      tenant: principal.tenant,
      manifest: json as object,
      root: to0x(manifest.root),
      records: String(manifest.records),
      shards: shardCount(manifest),
      createdAt,
    };
    const shards = Array.from({ length: row.shards }, (_, index) => {
      const { sha256, bytes } = shardAt(manifest, index)!;
      return { datasetId: id, index, sha256: to0x(sha256), bytes, uploadedAt: null };
    });
    await this.database.transaction(async (manager) => {
      const insert = manager.createQueryBuilder().insert().into(Dataset).values(row).orIgnore().returning('id');
      const isNew = ((await insert.execute()).raw as unknown[]).length > 0;
      if (!isNew && !(await this.revives(manager, id, principal, json))) return;
      for (let at = 0; at < shards.length; at += 1000) await manager.insert(DatasetShard, shards.slice(at, at + 1000));
      await this.checkQuota(manager, principal);
    });
    return this.view(principal, id);
  }

  /** Those of the caller's reach, in the order of their ids. */
  async list(principal: Principal, limit: number, after: string | undefined): Promise<DatasetPage> {
    const query = this.database.manager
      .createQueryBuilder(Dataset, 'd')
      .select(['d.id AS id', 'd.root AS root', 'd.records AS records', 'd.shards AS shards', 'd.created_at AS created'])
      .addSelect('coalesce(s.bytes, 0)', 'bytes')
      .addSelect('coalesce(s.uploaded, 0)', 'uploaded')
      .leftJoin(shardSums, 's', 's.dataset_id = d.id')
      .where('d.deleted_at IS NULL')
      .orderBy('d.id')
      .limit(limit + 1);
    if (!isGlobal(principal)) query.andWhere('d.tenant = :tenant', { tenant: principal.tenant });
    if (after !== undefined) query.andWhere('d.id > :after', { after });
    return pageOf(
      await query.getRawMany<ListedRow>(),
      limit,
      ({ id }) => id,
      ({ id, root, records, shards, bytes, uploaded, created }) => ({
        ...{ id, root, records: Number(records), shards, uploaded: Number(uploaded), bytes: Number(bytes) },
        createdAt: created.toISOString(),
      }),
    );
  }

  async view(principal: Principal, id: string): Promise<DatasetView> {
    const dataset = await this.readable(principal, id);
    const shards = await this.database.manager.find(DatasetShard, {
      where: { datasetId: id },
      order: { index: 'ASC' },
    });
    return {
      id,
      root: dataset.root,
      records: Number(dataset.records),
      shards: shards.map(({ index, sha256, bytes, uploadedAt }) => ({
        index,
        sha256,
        cid: cidOf(sha256),
        bytes,
        uploaded: uploadedAt !== null,
      })),
      manifest: dataset.manifest as DatasetView['manifest'],
      createdAt: dataset.createdAt.toISOString(),
    };
  }

  /** @throws Rejection DATASET_UNKNOWN, SHARD_UNKNOWN */
  async shard(principal: Principal, id: string, index: number): Promise<DatasetShard> {
    await this.readable(principal, id);
    const shard = await this.database.manager.findOneBy(DatasetShard, { datasetId: id, index });
    if (shard === null) {
      throw refusal('SHARD_UNKNOWN', { expected: 'a shard of the manifest', got: `${index}`, rule });
    }
    return shard;
  }

  async markUploaded(shard: DatasetShard): Promise<void> {
    const { datasetId, index } = shard;
    await this.database.manager.update(DatasetShard, { datasetId, index }, { uploadedAt: this.clock.now() });
  }

  /** Its owner reads a data set, and an operator while a node of theirs holds a lease on a job that needs it. */
  private async readable(principal: Principal, id: string): Promise<Dataset> {
    const { manager } = this.database;
    const dataset = await manager.findOneBy(Dataset, { id });
    if (dataset === null || dataset.deletedAt !== null) throw unknownDataset(id);
    const isOwner = principal.role !== 'operator' && seesTenant(principal, dataset.tenant);
    if (isOwner) return dataset;
    const isOperator = principal.role === 'operator';
    if (isOperator && ((await this.hasLease(principal, id)) || (await this.proves(principal, id)))) return dataset;
    throw unknownDataset(id);
  }

  private hasLease(principal: Principal, datasetId: string): Promise<boolean> {
    return this.database.manager
      .createQueryBuilder(Lease, 'l')
      .innerJoin(Job, 'j', 'j.id = l.job_id')
      .where('j.dataset_id = :datasetId AND l.tenant = :tenant', { datasetId, tenant: principal.tenant })
      .andWhere(`l.state = 'active'`)
      .getExists();
  }

  private proves(principal: Principal, datasetId: string): Promise<boolean> {
    return this.database.manager
      .createQueryBuilder(SegmentProof, 'p')
      .innerJoin(Job, 'j', 'j.id = p.job_id')
      .innerJoin(NodeRecord, 'n', 'n.id = p.node_id')
      .where('j.dataset_id = :datasetId AND n.tenant = :tenant', { datasetId, tenant: principal.tenant })
      .andWhere('p.proved_at IS NULL')
      .getExists();
  }

  /** @throws Rejection DATASET_QUOTA */
  private async checkQuota(manager: EntityManager, { tenant }: Principal): Promise<void> {
    const [row] = await manager.query<{ bytes: string }[]>(
      `SELECT coalesce(sum(s.bytes), 0) AS bytes FROM dataset_shard s JOIN dataset d ON d.id = s.dataset_id
       WHERE d.tenant = $1`,
      [tenant],
    );
    const own = await manager.findOneBy(TenantLimit, { tenant });
    const max = Number(own?.datasetBytesMax ?? this.config.clientDatasetBytesMax);
    if (Number(row!.bytes) <= max) return;
    throw refusal('DATASET_QUOTA', {
      expected: `data sets of at most ${max} bytes of one tenant`,
      got: `${row!.bytes} with this one`,
      rule: 'apps/control-plane/README.md, limits',
      action: 'Ask the operator of the control plane for more room.',
    });
  }

  /** True for the owner's own data set that was deleted, which is registered again. @throws Rejection DATASET_DUPLICATE */
  private async revives(
    manager: EntityManager,
    id: string,
    principal: Principal,
    json: Record<string, unknown>,
  ): Promise<boolean> {
    const earlier = await manager.findOneOrFail(Dataset, { where: { id }, lock: { mode: 'pessimistic_write' } });
    this.checkSame(earlier, principal, json);
    if (earlier.deletedAt === null) return false;
    await manager.update(Dataset, { id }, { deletedAt: null, createdAt: this.clock.now() });
    return true;
  }

  private checkSame(earlier: Dataset, principal: Principal, json: Record<string, unknown>): void {
    const same = earlier.tenant === principal.tenant && sameJson(earlier.manifest, json);
    if (!same) {
      throw refusal('DATASET_DUPLICATE', {
        expected: 'a data set id that is new',
        got: earlier.id,
        rule,
        action: 'Seal the data set again; its id is drawn at random.',
      });
    }
  }
}

const shardSums = (query: SelectQueryBuilder<DatasetShard>) =>
  query
    .select('dataset_id')
    .addSelect('sum(bytes)', 'bytes')
    .addSelect('count(uploaded_at)', 'uploaded')
    .from(DatasetShard, 'shard')
    .groupBy('dataset_id');

interface ListedRow {
  readonly id: string;
  readonly root: string;
  readonly records: string;
  readonly shards: number;
  readonly bytes: string;
  readonly uploaded: string;
  readonly created: Date;
}

function sameJson(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null) return left === right;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => sameJson(left[key as keyof typeof left], right[key as keyof typeof right]))
  );
}

export function unknownDataset(id: string) {
  return refusal('DATASET_UNKNOWN', { expected: 'a data set that this key can read', got: id, rule });
}
