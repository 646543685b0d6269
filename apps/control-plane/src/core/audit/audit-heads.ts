/**
 * Heads of the audit log on their way to the transparency log, hourly and at the stop: whoever can write to the whole
 * database can make the chain anew, and not what was logged of it.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, IsNull, Not, type EntityManager } from 'typeorm';
import { Rejection, toHex } from '#attestation/base';
import { leafHash, openEntry, parseLogProof, verifyEntry } from '#attestation/log';
import { readEntriesOf } from '#libs/log';
import { AuditHead, LogOutboxEntry } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import type { LogConfig } from '../config/log.js';
import { CONFIG, LOGGER } from '../config/tokens.js';
import { Clock } from '../timing/clock.js';
import { Periodic } from '../timing/periodic.js';

const everyMilliseconds = 3_600_000;
const kind = 'journal-head';

export interface LoggedHeads {
  /** Digest of row n, 0x-hexadecimal, by n. */
  readonly digests: ReadonlyMap<string, string>;
  /** Index of a head by this control plane that the log has and the database does not; null: there is none. */
  readonly missing: number | null;
}

@Injectable()
export class AuditHeads implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  readonly #log: LogConfig | null;

  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#log = config.log;
    this.#loop = new Periodic('audit heads', everyMilliseconds, () => this.note(), logger);
  }

  onApplicationBootstrap(): void {
    if (this.#log !== null) this.#loop.start();
  }

  /** What is noted here is sent by whichever replica runs, or after the next start. */
  async onApplicationShutdown(): Promise<void> {
    if (this.#log === null) return;
    await this.#loop.stop();
    await this.note();
  }

  /** The head that the chain has now is due in the log, once whoever asks. */
  async note(): Promise<void> {
    if (this.#log === null) return;
    await this.database.transaction(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const { n, digest } = await manager.findOneOrFail(AuditHead, { where: { id: 1 }, lock });
      if (digest === null || (await manager.existsBy(LogOutboxEntry, { kind, subject: n }))) return;
      const createdAt = this.clock.now();
      const due = { kind, subject: n, data: { digest }, attempts: 0, nextAt: createdAt, createdAt };
      await manager.insert(LogOutboxEntry, due as object);
    });
  }

  /**
   * What was logged, by the openings in the database and the entries in the log: null where there is no log.
   * @throws Rejection LOG_OPENING, COSE_* where a stored entry is not what this control plane logged; CollateralError
   *   LOG_* where the log cannot be read
   */
  async logged(manager: EntityManager): Promise<LoggedHeads | null> {
    const log = this.#log;
    if (log === null) return null;
    const where = { kind, entry: Not(IsNull()) };
    const rows = await manager.find(LogOutboxEntry, { where, order: { id: 'ASC' } });
    const digests = new Map<string, string>();
    const leaves = new Set<string>();
    let from = 0;
    for (const { entry, salt, body, proof } of rows) {
      const bytes = new Uint8Array(entry!);
      const read = await verifyEntry(bytes, log.issuer.publicKey);
      if (read.class !== 'sealed') throw new Rejection('LOG_OPENING', { expected: kind, got: read.kind, rule: kind });
      const opening = { salt: new Uint8Array(salt ?? []), body: new Uint8Array(body ?? []) };
      const { lines, head } = openEntry(read, 'journal-head', opening);
      digests.set(String(lines), `0x${toHex(head)}`);
      leaves.add(toHex(leafHash(bytes)));
      if (proof !== null) from = Math.max(from, parseLogProof(proof).index + 1);
    }
    const found = await readEntriesOf({ ...log, key: log.issuer.publicKey }, from);
    const missing = found.find((one) => one.kind === kind && !leaves.has(one.leaf));
    return { digests, missing: missing?.index ?? null };
  }
}
