/** A TCP proxy between two processes: lets through, holds like a network that is gone, cuts, delays, loses messages. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { natsPieces, type Piece } from './frames.js';
import type { Random } from './random.js';

/** Of messages, each between 0 and 1. */
interface Losses {
  readonly drop: number;
  readonly duplicate: number;
  readonly late: number;
}

interface Pair {
  readonly near: Socket;
  far: Socket | null;
}

const lateMsMax = 800;

/** What a link has done to those who speak through it. */
export type Done = Record<'held' | 'cut' | 'delayed' | 'lost' | 'doubled' | 'late', number>;

export class Link {
  readonly #pairs = new Set<Pair>();
  #isHeld = false;
  #delayMs = 0;
  readonly done: Done = { held: 0, cut: 0, delayed: 0, lost: 0, doubled: 0, late: 0 };
  #losses: { readonly rates: Losses; readonly random: Random } | null = null;

  private constructor(
    private readonly server: Server,
    /** Port of the one who is dialled. */
    private readonly target: number,
    readonly speaksNats: boolean,
  ) {
    server.on('connection', (near) => this.accept(near));
  }

  /** @param host  address to listen on */
  static async open(target: number, speaksNats: boolean, host = '127.0.0.1'): Promise<Link> {
    const server = createServer({ pauseOnConnect: true });
    const link = new Link(server, target, speaksNats);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return link;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** Nothing gets through in either direction, and nobody is told. */
  hold(): void {
    this.#isHeld = true;
    this.done.held += this.#pairs.size;
    for (const { near, far } of this.#pairs) [near, far].forEach((socket) => socket?.pause());
  }

  /** Ends every connection. */
  cut(): void {
    this.done.cut += this.#pairs.size;
    for (const { near, far } of this.#pairs) [near, far].forEach((socket) => socket?.destroy());
  }

  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  lose(rates: Losses, random: Random): void {
    this.#losses = { rates, random };
  }

  /** Lets everything through again; what was held follows. */
  repair(): void {
    this.#isHeld = false;
    this.#delayMs = 0;
    this.#losses = null;
    for (const pair of this.#pairs) this.join(pair);
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private accept(near: Socket): void {
    const pair: Pair = { near, far: null };
    this.#pairs.add(pair);
    near.on('error', () => undefined);
    near.once('close', () => {
      pair.far?.destroy();
      this.#pairs.delete(pair);
    });
    if (this.#isHeld) this.done.held += 1;
    else this.join(pair);
  }

  private join(pair: Pair): void {
    if (pair.far === null) {
      const far = connect(this.target, '127.0.0.1');
      pair.far = far;
      far.on('error', () => undefined);
      far.once('close', () => pair.near.destroy());
      this.pump(pair.near, far);
      this.pump(far, pair.near);
    }
    [pair.near, pair.far].forEach((socket) => socket.resume());
  }

  /** Bytes keep their order; a late message alone is overtaken. */
  private pump(from: Socket, to: Socket): void {
    const pieces = this.speaksNats ? natsPieces() : (bytes: Buffer): Piece[] => [{ bytes, isMessage: false }];
    let due = 0;
    const write = (bytes: Buffer, at: number): void => {
      const wait = at - performance.now();
      if (wait <= 0) void (to.destroyed || to.write(bytes));
      else setTimeout(() => to.destroyed || to.write(bytes), wait);
    };
    from.on('data', (chunk: Buffer) => {
      for (const { bytes, isMessage } of pieces(chunk)) {
        const now = performance.now();
        const { rates, random } = (isMessage ? this.#losses : null) ?? { rates: null, random: null };
        if (rates !== null && random.next() < rates.drop) {
          this.done.lost += 1;
          continue;
        }
        const isLate = rates !== null && random.next() < rates.late;
        if (!isLate) due = Math.max(due, now + this.#delayMs);
        if (!isLate && this.#delayMs > 0) this.done.delayed += 1;
        if (isLate) this.done.late += 1;
        write(bytes, isLate ? now + random.whole(1, lateMsMax) : due);
        if (rates === null || random.next() >= rates.duplicate) continue;
        this.done.doubled += 1;
        write(bytes, now + random.whole(1, lateMsMax));
      }
    });
    from.once('end', () => to.end());
  }
}
