/** The socket that `pg` writes to, answered in this process by PGlite. PGlite has one session: use a pool of size 1. */
import { Duplex } from 'node:stream';
import type { PGlite } from '@electric-sql/pglite';

export class PGliteSocket extends Duplex {
  #tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly db: PGlite) {
    super();
  }

  connect(): this {
    queueMicrotask(() => this.emit('connect'));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#tail = this.#tail
      .then(() => this.db.execProtocolRaw(chunk))
      .then((answer) => {
        if (answer.byteLength > 0) this.push(Buffer.from(answer));
        done();
      }, done);
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  /** A client that goes away in mid-transaction must not leave it open for the next one. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const rollBack = this.db.closed ? Promise.resolve() : this.#tail.then(() => this.db.exec('ROLLBACK'));
    rollBack.then(
      () => done(error),
      () => done(error),
    );
  }
}
