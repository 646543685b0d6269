/** Takes a data set away: its shards at once, its manifest with them unless the bundle of an ended job needs it. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, Not, type EntityManager } from 'typeorm';
import { Dataset, DatasetShard, Job } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import { AuditLog } from '../core/audit/audit-log.js';
import { seesTenant, type Principal } from '../core/auth/principal.js';
import { LOGGER } from '../core/config/tokens.js';
import { BlobStore } from '../core/objects/blob-store.js';
import { BlobCollector } from '../core/objects/collector.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { DatasetCache } from '../data/dataset-cache.js';
import { unknownDataset } from '../data/datasets.service.js';
import { draftOf } from '../data/upload.js';
import { endStates } from './state-machine.js';

@Injectable()
export class DatasetRemoval {
  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly cache: DatasetCache,
    private readonly collector: BlobCollector,
    private readonly blobs: BlobStore,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws Rejection DATASET_UNKNOWN, DATASET_IN_USE */
  async remove(principal: Principal, id: string): Promise<void> {
    const { tenant, shards } = await this.database.transaction(async (manager) => {
      // A job that is being stored holds this row, or finds it deleted.
      const dataset = await manager.findOne(Dataset, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (dataset === null || dataset.deletedAt !== null || !seesTenant(principal, dataset.tenant)) {
        throw unknownDataset(id);
      }
      await this.checkUnused(manager, id);
      const rows = await manager.find(DatasetShard, { where: { datasetId: id }, select: { sha256: true } });
      await manager.delete(DatasetShard, { datasetId: id });
      if (await manager.existsBy(Job, { datasetId: id })) {
        await manager.update(Dataset, { id }, { deletedAt: this.clock.now() });
      } else await manager.delete(Dataset, { id });
      const cause = { actor: principal.keyId, tenant: principal.tenant };
      await this.auditLog.audit(manager, cause, 'dataset.delete', id);
      return { tenant: dataset.tenant, shards: rows.map(({ sha256 }) => sha256) };
    });
    this.cache.forget(id);
    // What this does not come to, the collector does within a day.
    this.collect(tenant, shards).catch((error: unknown) =>
      this.logger.warn('shards of a deleted data set were not removed yet', { dataset: id, error }),
    );
  }

  private async checkUnused(manager: EntityManager, datasetId: string): Promise<void> {
    const live = await manager.findOne(Job, {
      where: { datasetId, state: Not(In([...endStates])) },
      select: { id: true, state: true },
    });
    if (live === null) return;
    throw refusal('DATASET_IN_USE', {
      expected: 'a data set that no job needs any more',
      got: `job ${live.id}, which is ${live.state}`,
      rule: 'apps/control-plane/README.md, data sets',
      action: 'Cancel its jobs or wait for their end.',
    });
  }

  private async collect(tenant: string, shards: readonly string[]): Promise<void> {
    for (const sha256 of shards) {
      await this.blobs.dropPart(draftOf(tenant, sha256));
      await this.collector.release(sha256);
    }
  }
}
