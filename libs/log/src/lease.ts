/** What one replica of a log does at a time: it has a row of the database for so long, and prolongs that while it works. */
import { randomUUID } from 'node:crypto';
import type { Sql } from './database.js';

const leaseMs = 60_000;

/** A replica that is stopped or killed loses the lease after a minute, and another takes it. */
export class Lease {
  readonly #holder = randomUUID();

  constructor(
    private readonly database: Sql,
    private readonly origin: string,
  ) {}

  /** @returns whether this replica worked; false where another one has the lease */
  async during(work: () => Promise<void>): Promise<boolean> {
    if (!(await this.#take())) return false;
    let beat: Promise<unknown> = Promise.resolve();
    const timer = setInterval(() => {
      beat = beat.then(() => this.#take()).catch(() => undefined);
    }, leaseMs / 3);
    try {
      await work();
    } finally {
      clearInterval(timer);
      await beat;
      await this.#give().catch(() => undefined);
    }
    return true;
  }

  async #take(): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO log_lease (origin, holder, until) VALUES ($1, $2, now() + $3 * interval '1 millisecond')
       ON CONFLICT (origin) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
       WHERE log_lease.holder = EXCLUDED.holder OR log_lease.until < now() RETURNING origin`,
      [this.origin, this.#holder, leaseMs],
    );
    return rows.length > 0;
  }

  async #give(): Promise<void> {
    await this.database.query('DELETE FROM log_lease WHERE origin = $1 AND holder = $2', [this.origin, this.#holder]);
  }
}
