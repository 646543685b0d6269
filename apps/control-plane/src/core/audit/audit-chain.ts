/**
 * The audit log as a chain: each row names the SHA-256 of the row before. Rows are written with the changes that they speak
 * of, in transactions that must not wait for each other, and chained within a second, in the order in which they are found.
 */
import { createHash } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { And, DataSource, IsNull, LessThan, LessThanOrEqual, MoreThan, type EntityManager } from 'typeorm';
import { CollateralError, Rejection } from '#attestation/base';
import { AuditEntry, AuditHead } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import { LOGGER } from '../config/tokens.js';
import { refusal } from '../problem/codes.js';
import { AuditHeads, type LoggedHeads } from './audit-heads.js';
import { Periodic } from '../timing/periodic.js';

const chainMilliseconds = 1000;
const batchSize = 1000;
const headId = 1;

interface VerifiedAudit {
  /** Rows of the chain. */
  readonly rows: number;
  /** Rows from before the chain, which its first row names as a whole. */
  readonly rowsBefore: number;
  /** SHA-256 of the last row; null while there is none. */
  readonly head: string | null;
}

@Injectable()
export class AuditChain implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;

  constructor(
    private readonly database: DataSource,
    private readonly heads: AuditHeads,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Periodic('audit chain', chainMilliseconds, () => this.extend(), logger);
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
    this.verify().then(
      (found) => this.logger.info('the audit log is whole', { ...found }),
      (error: unknown) => {
        if (error instanceof CollateralError)
          this.logger.warn('the audit log was not held against its heads', { error });
        else this.logger.error('the audit log was not found whole', { error });
      },
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  /** Chains every row that is in no chain yet. */
  async extend(): Promise<void> {
    for (let count = batchSize; count === batchSize;) count = await this.extendBatch();
  }

  /**
   * @throws Rejection AUDIT_BROKEN with the first row that is not what the chain, or the transparency log, says;
   *   CollateralError LOG_* where there is a log and it cannot be read
   */
  async verify(): Promise<VerifiedAudit> {
    await this.extend();
    const { manager } = this.database;
    const logged = await this.loggedHeads(manager);
    const head = await manager.findOneByOrFail(AuditHead, { id: headId });
    const before = await digestBefore(manager, head);
    const [none] = await manager.find(AuditEntry, { where: { n: LessThan('1') }, take: 1 });
    if (none !== undefined) throw broken('rows from 1 on', `row ${none.n}`);
    let [n, digest, batch] = [0n, before.digest, batchSize];
    while (batch === batchSize) {
      const where = { n: MoreThan(String(n)) };
      const rows = await manager.find(AuditEntry, { where, order: { n: 'ASC', id: 'ASC' }, take: batchSize });
      for (const row of rows) {
        n += 1n;
        if (row.n !== String(n)) throw broken(`row ${n}`, `row ${row.n} behind row ${n - 1n}`);
        if (row.prev !== digest) throw broken(`row ${n} to name ${digest}, the row before as it is`, `${row.prev}`);
        digest = digestOf(row);
        const known = logged?.digests.get(row.n);
        if (known !== undefined && digest !== known) throw broken(`row ${n} with digest ${known}, as logged`, digest);
        if (row.n === head.n && digest !== head.digest) throw broken(`row ${n} with digest ${head.digest}`, digest);
      }
      batch = rows.length;
    }
    const beyond = [...(logged?.digests.keys() ?? [])].find((one) => BigInt(one) > n);
    if (beyond !== undefined) throw broken(`${beyond} rows, as logged`, `${n}`);
    if (n < BigInt(head.n)) throw broken(`${head.n} rows`, `${n}`);
    // What lies behind was chained while this looked, or put in.
    const { n: last } = n === BigInt(head.n) ? head : await manager.findOneByOrFail(AuditHead, { id: headId });
    if (n > BigInt(last)) throw broken(`${last} rows`, `${n}`);
    return found(head, before.rows);
  }

  private async loggedHeads(manager: EntityManager): Promise<LoggedHeads | null> {
    const logged = await this.heads.logged(manager).catch((error: unknown) => {
      throw error instanceof Rejection ? broken('heads as they were logged', error.message) : error;
    });
    if (logged?.missing == null) return logged;
    throw broken(`the head that is entry ${logged.missing} of the transparency log`, 'none');
  }

  private extendBatch(): Promise<number> {
    return this.database.transaction(async (manager) => {
      const head = await manager.findOneOrFail(AuditHead, {
        where: { id: headId },
        lock: { mode: 'pessimistic_write' },
      });
      const where = { n: IsNull(), id: MoreThan(head.beforeId) };
      const rows = await manager.find(AuditEntry, { where, order: { id: 'ASC' }, take: batchSize });
      if (rows.length === 0) return 0;
      let digest = head.digest ?? (await digestBefore(manager, head)).digest;
      let n = BigInt(head.n);
      for (const row of rows) {
        Object.assign(row, { n: String((n += 1n)), prev: digest });
        digest = digestOf(row);
      }
      await manager.query(
        `UPDATE audit_log a SET n = v.n, prev = v.prev
         FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS v(id, n, prev) WHERE a.id = v.id`,
        [rows.map(({ id }) => id), rows.map((row) => row.n), rows.map(({ prev }) => prev)],
      );
      await manager.update(AuditHead, { id: headId }, { n: String(n), digest });
      return rows.length;
    });
  }
}

/** The row as one line of JSON, members in this order, is what the next row names. */
function lineOf({ n, at, prev, id, tenant, actor, action, subject, code }: AuditEntry): string {
  return JSON.stringify({ n, at: at.toISOString(), prev, id, tenant, actor, action, subject, code });
}

function digestOf(row: AuditEntry): string {
  return `0x${createHash('sha256').update(lineOf(row)).digest('hex')}`;
}

/** Of all lines from before the chain, in the order of their ids, each with a line feed. */
async function digestBefore(manager: EntityManager, head: AuditHead): Promise<{ rows: number; digest: string }> {
  const hash = createHash('sha256');
  let [rows, after] = [0, '0'];
  for (let count = batchSize; count === batchSize;) {
    const id = And(MoreThan(after), LessThanOrEqual(head.beforeId));
    const found = await manager.find(AuditEntry, { where: { n: IsNull(), id }, order: { id: 'ASC' }, take: batchSize });
    for (const row of found) hash.update(`${lineOf(row)}\n`);
    count = found.length;
    rows += count;
    after = found.at(-1)?.id ?? after;
  }
  return { rows, digest: `0x${hash.digest('hex')}` };
}

function found({ n, digest }: AuditHead, rowsBefore: number): VerifiedAudit {
  return { rows: Number(n), rowsBefore, head: digest };
}

function broken(expected: string, got: string) {
  return refusal('AUDIT_BROKEN', {
    expected,
    got,
    rule: 'apps/control-plane/README.md, audit log',
    action: 'A row was changed, taken away or put in behind the back of this service: compare with a backup.',
  });
}
