/** Entries on their way into the database: whatever comes while one statement runs goes with the next one. */
import { CollateralError, toHex } from '#attestation/base';
import type { LogDatabase } from './database.js';

interface Offered {
  readonly leaf: Uint8Array;
  readonly entry: Uint8Array;
  readonly resolve: (isNew: boolean) => void;
  readonly reject: (error: Error) => void;
}

const pendingMost = 50_000;
const batchMost = 1000;

export class Intake {
  #offered: Offered[] = [];
  #running = false;

  constructor(
    private readonly database: LogDatabase,
    private readonly origin: string,
  ) {}

  /**
   * @returns once it is committed, whether this log had it not before
   * @throws CollateralError LOG_BUSY: too many wait, or the database does not answer
   */
  add(leaf: Uint8Array, entry: Uint8Array): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#offered.push({ leaf, entry, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#offered.length > 0) {
      const batch = this.#offered.splice(0, batchMost);
      try {
        const added = await this.#insert(batch);
        for (const { leaf, resolve } of batch) resolve(added.has(toHex(leaf)));
      } catch (error) {
        const failure = error instanceof CollateralError ? error : busy('a database that answers', error);
        for (const { reject } of batch) reject(failure);
      }
    }
    this.#running = false;
  }

  async #insert(batch: readonly Offered[]): Promise<ReadonlySet<string>> {
    const [{ count } = { count: 0 }] = await this.database.query<{ count: number | string }>(
      'SELECT count(*) AS count FROM (SELECT 1 FROM log_pending WHERE origin = $1 LIMIT $2) AS waiting',
      [this.origin, pendingMost],
    );
    if (Number(count) >= pendingMost) throw busy(`fewer than ${pendingMost} entries that wait`, count);
    const added = await this.database.query<{ leaf: Uint8Array }>(
      `INSERT INTO log_pending (origin, leaf, entry)
       SELECT $1, o.leaf, o.entry FROM unnest($2::bytea[], $3::bytea[]) AS o (leaf, entry)
       WHERE NOT EXISTS (SELECT 1 FROM log_entry e WHERE e.origin = $1 AND e.leaf = o.leaf)
       ON CONFLICT DO NOTHING RETURNING leaf`,
      [this.origin, bytesArray(batch.map(({ leaf }) => leaf)), bytesArray(batch.map(({ entry }) => entry))],
    );
    return new Set(added.map(({ leaf }) => toHex(new Uint8Array(leaf))));
  }
}

/** As both databases read it; of hexadecimal alone, so nothing has to be escaped. */
export function bytesArray(all: readonly Uint8Array[]): string {
  return `{${all.map((bytes) => `"\\\\x${toHex(bytes)}"`).join(',')}}`;
}

function busy(expected: string, got: unknown): CollateralError {
  return new CollateralError('LOG_BUSY', {
    expected,
    got: got instanceof Error ? got.message : String(got),
    rule: 'libs/log/README.md',
    action: 'submit the same entry again',
  });
}
