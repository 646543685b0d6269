/** A local HTTP server that replays recorded answers and counts who asked for what; and a clock that only tests move. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Recorded {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Never answers. */
  readonly silent?: boolean;
  /** Sends the body and then nothing, not even an end. */
  readonly stalls?: boolean;
  /** Sends this many bytes without declaring a length. */
  readonly endless?: number;
}

export class ReplayServer {
  /** Method, path and query of every request, in order. */
  readonly seen: string[] = [];
  readonly bodies: Buffer[] = [];
  private readonly answers = new Map<string, Recorded[]>();
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => void this.handle(request, response));
  }

  /** Answers for one path and query; the last one repeats. */
  on(target: string, ...answers: Recorded[]): this {
    this.answers.set(target, answers);
    return this;
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.bodies.push(Buffer.concat(chunks));
    this.seen.push(`${request.method} ${request.url}`);
    const queue = this.answers.get(request.url!) ?? [{ status: 404 }];
    const answer = queue.length > 1 ? queue.shift()! : queue[0]!;
    if (answer.silent) return;
    response.writeHead(answer.status ?? 200, answer.headers);
    for (let sent = 0; sent < (answer.endless ?? 0) && !response.destroyed; sent += 65_536)
      response.write(Buffer.alloc(65_536));
    if (answer.stalls) response.write(answer.body);
    else response.end(answer.body);
  }
}

/** Time that passes only by `sleep` and `advance`. */
export class TestClock {
  readonly slept: number[] = [];
  constructor(public now: number) {}

  advance(milliseconds: number): void {
    this.now += milliseconds;
  }

  sleep = (milliseconds: number): Promise<void> => {
    this.slept.push(milliseconds);
    this.now += milliseconds;
    return Promise.resolve();
  };
}
