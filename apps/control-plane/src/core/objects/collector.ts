/**
 * Removes ciphertexts that nothing names any more: never a shard of a registered data set, a checkpoint that somebody may
 * go on from, a partial, a result, a proof, or weights that a job starts from; and never anything younger than a day, for a message that names it may be on its way.
 */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { BlobRecord } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import { LOGGER } from '../config/tokens.js';
import { Clock } from '../timing/clock.js';
import { Periodic } from '../timing/periodic.js';
import { BlobStore } from './blob-store.js';
import { spentAt, spentCheckpoints } from './spent-checkpoints.js';

const everyMilliseconds = 3600_000;
export const graceSeconds = 86_400;

/** One row for every thing that names the ciphertext $2, as of the time $1. */
const references = `
  SELECT 1 FROM dataset_shard WHERE sha256 = $2
  UNION ALL SELECT 1 FROM checkpoint c JOIN job j ON j.id = c.job_id WHERE c.blob = $2 AND NOT ${spentAt}
  UNION ALL SELECT 1 FROM delivery WHERE result_blob = $2
  UNION ALL SELECT 1 FROM segment_proof WHERE blob = $2
  UNION ALL SELECT 1 FROM worker_segment WHERE blob = $2
  UNION ALL SELECT 1 FROM job WHERE start_blobs IS NOT NULL AND $2 = ANY(start_blobs)
  LIMIT 1`;

/** Held by whoever makes a ciphertext known or unknown, to the end of the transaction. */
export async function lockBlob(manager: EntityManager, sha256: string): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [sha256]);
}

@Injectable()
export class BlobCollector implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;

  constructor(
    private readonly database: DataSource,
    private readonly blobs: BlobStore,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Periodic('blob collector', everyMilliseconds, async () => void (await this.collect()), logger);
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  /** @returns what was removed */
  async collect(): Promise<{ readonly count: number; readonly bytes: number }> {
    const before = new Date(this.clock.now().getTime() - graceSeconds * 1000);
    await this.removeSpent();
    const removed = { count: 0, bytes: 0 };
    for await (const { sha256, bytes, storedAt } of this.blobs.objects.list()) {
      if (storedAt >= before || !(await this.forget(sha256, before))) continue;
      removed.count += 1;
      removed.bytes += bytes;
    }
    await removeOld(this.blobs.drafts, before);
    if (removed.count > 0) this.logger.info('ciphertexts that nothing names were removed', removed);
    return removed;
  }

  /** Removes one ciphertext now, unless something names it or an operator has just brought it. */
  release(sha256: string): Promise<boolean> {
    return this.forget(sha256, new Date(this.clock.now().getTime() - graceSeconds * 1000));
  }

  /**
   * Removes checkpoints from which nobody goes on; what fails is logged, and done at the next turn.
   * @param jobId of one job; absent: of all
   */
  async removeSpent(jobId: string | null = null): Promise<void> {
    try {
      for (const { sha256, namedAt } of await spentCheckpoints(this.database.manager, this.clock.now(), jobId)) {
        if (await this.forget(sha256, new Date(namedAt.getTime() + 1)))
          this.logger.info('a spent checkpoint was removed', { sha256 });
      }
    } catch (error) {
      this.logger.warn('spent checkpoints were not removed', { jobId, error });
    }
  }

  /** @param before unless one of those who brought it did so then or later */
  private forget(sha256: string, before: Date): Promise<boolean> {
    return this.database.transaction(async (manager) => {
      await lockBlob(manager, sha256);
      const named = await manager.query<unknown[]>(references, [this.clock.now(), sha256]);
      const rows = await manager.findBy(BlobRecord, { sha256 });
      if (named.length > 0 || rows.some(({ createdAt }) => createdAt >= before)) return false;
      await manager.delete(BlobRecord, { sha256 });
      await this.blobs.objects.remove(sha256);
      return true;
    });
  }
}

async function removeOld(directory: string, before: Date): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && found.mtime < before) await rm(path, { force: true });
  }
}
