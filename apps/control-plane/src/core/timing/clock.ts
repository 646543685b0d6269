/** The only source of time of the control plane. */
import type { DataSource } from 'typeorm';

export class Clock {
  now(): Date {
    return new Date();
  }

  /** Unix seconds. */
  at(): number {
    return Math.floor(this.now().getTime() / 1000);
  }

  /** Milliseconds that only go forward, from a start that means nothing. */
  monotonic(): number {
    return performance.now();
  }
}

/**
 * The database server's time, carried on by this process's monotonic clock: replicas whose clocks differ agree on what
 * has expired, and one whose clock is set jumps nowhere.
 */
export class DatabaseClock extends Clock {
  /** Database time when the monotonic clock was 0, unix milliseconds. */
  #origin = 0;

  private constructor(private readonly database: DataSource) {
    super();
  }

  static async of(database: DataSource): Promise<DatabaseClock> {
    const clock = new DatabaseClock(database);
    await clock.synchronise();
    return clock;
  }

  override now(): Date {
    return new Date(this.#origin + performance.now());
  }

  /** Asks again; right to half the time that the answer takes. */
  async synchronise(): Promise<void> {
    const asked = performance.now();
    const [row] = await this.database.query<{ ms: string }[]>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
    );
    this.#origin = Number(row!.ms) - (asked + performance.now()) / 2;
  }
}
