/** The database and the files of one replica, as it meets them under its faults. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogDatabase, LogStore } from '#libs/log';
import type { LogFault } from './plan.js';

const sleepMs = 80;

type Sql = Pick<LogDatabase, 'query'>;

/** What a process that is dead does with everything. */
class Killed extends Error {}

interface FaultyOptions {
  readonly database: LogDatabase;
  readonly store: LogStore;
  readonly files: string;
  readonly faults: readonly LogFault[];
  /** Ends every session of this replica at the server. */
  readonly endSessions: () => Promise<void>;
  readonly onFault: (kind: LogFault['kind']) => void;
}

export class Faulty {
  readonly database: LogDatabase;
  readonly store: LogStore;
  /** Resolves when it is killed. */
  readonly end: Promise<null>;
  #onEnd: () => void = () => undefined;
  #step = 0;
  #killed = false;
  #full = 0;

  constructor(private readonly options: FaultyOptions) {
    this.end = new Promise((resolve) => {
      this.#onEnd = () => resolve(null);
    });
    const counted = (sql: Sql): Sql => ({
      query: async (text, values) => {
        await this.#next();
        return sql.query(text, values);
      },
    });
    const { database, store } = options;
    this.database = {
      ...counted(database),
      transaction: async (act) => {
        await this.#next();
        const value = await database.transaction(async (sql) => {
          const result = await act(counted(sql));
          await this.#next();
          return result;
        });
        await this.#next();
        return value;
      },
      close: () => Promise.resolve(),
    };
    this.store = {
      read: async (path) => {
        this.#alive();
        return store.read(path);
      },
      write: async (path, bytes) => {
        await this.#next();
        if (this.#full > 0) await this.#fill(path, bytes);
        await store.write(path, bytes);
        await this.#next();
      },
    };
  }

  get isKilled(): boolean {
    return this.#killed;
  }

  kill(): void {
    this.#killed = true;
    this.#onEnd();
  }

  #alive(): void {
    if (this.#killed) throw new Killed();
  }

  async #next(): Promise<void> {
    this.#alive();
    const step = this.#step++;
    for (const fault of this.options.faults.filter((one) => one.step === step)) {
      this.options.onFault(fault.kind);
      if (fault.kind === 'kill') {
        this.kill();
        await this.options.endSessions();
      } else if (fault.kind === 'disk-full') {
        this.#full = fault.files;
      } else {
        await this.options.endSessions();
        // Meanwhile another replica has its turn; then this one goes on with what it was about to do.
        if (fault.kind === 'sleep') await sleep(sleepMs);
      }
    }
    this.#alive();
  }

  async #fill(path: string, bytes: Uint8Array): Promise<never> {
    this.#full--;
    const beside = join(this.options.files, `${path}.half.tmp`);
    await mkdir(dirname(beside), { recursive: true });
    await writeFile(beside, bytes.subarray(0, bytes.length >> 1));
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  }
}
