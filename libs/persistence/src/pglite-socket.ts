/** The socket that `pg` writes to, answered in this process by PGlite. PGlite has one session: use a pool of size 1. */
import { Duplex } from 'node:stream';
import type { PGlite } from '@electric-sql/pglite';

/** The first byte of what a client says first; it has no type, and is answered otherwise than what follows. */
const startup = 0;

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
      .then(() => this.#execute(chunk))
      .then(
        () => done(),
        (error: Error) => done(error),
      );
  }

  /** As a stream: otherwise PGlite reads what it answers, and keeps every message of it for as long as it lives. */
  async #execute(chunk: Buffer): Promise<void> {
    if (chunk[0] !== startup) {
      return this.db.execProtocolRawStream(chunk, { onRawData: (bytes) => void this.push(Buffer.from(bytes)) });
    }
    const answer = await this.db.execProtocolRaw(chunk);
    if (answer.byteLength > 0) this.push(Buffer.from(answer));
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
