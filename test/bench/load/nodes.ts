/** Simulated nodes: each holds a connection of its own to the dispatch port and asks for jobs in long polls. */
import { connect, type Socket } from 'node:net';
import { pattern, type LeaseAcquired } from '#libs/messaging';
import { loadKeys, loadProvider } from './keys.js';

const capabilities = { tee: 'simulated-snp', cores: 4, memoryMiB: 1024, version: '1' };

export class SimulatedNodes {
  /** Performance time at which each job was granted. */
  readonly #granted = new Map<string, number>();
  #isClosed = false;
  readonly #sockets: Socket[] = [];

  private constructor(private readonly port: number) {}

  /** Connected and registered, all of them. */
  static async connect(port: number, count: number): Promise<SimulatedNodes> {
    const fleet = new SimulatedNodes(port);
    for (let from = 0; from < count; from += 50) {
      const batch = Array.from({ length: Math.min(50, count - from) }, (_, index) => fleet.start(from + index));
      await Promise.all(batch);
    }
    return fleet;
  }

  /** Until so many jobs were granted. */
  async granted(count: number): Promise<void> {
    while (this.#granted.size < count) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** When a job was granted. @throws Error when it was not */
  grantedAt(jobId: string): number {
    const at = this.#granted.get(jobId);
    if (at === undefined) throw new Error(`job ${jobId} was not granted`);
    return at;
  }

  close(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  private async start(number: number): Promise<void> {
    const line = new Line(await opened(this.port));
    this.#sockets.push(line.socket);
    const register = { auth: loadKeys.operator, name: `simulated-${number}`, provider: loadProvider, capabilities };
    const { nodeId } = (await line.ask(pattern.nodeRegister, register)) as { nodeId: string };
    void this.poll(line, nodeId);
  }

  private async poll(line: Line, nodeId: string): Promise<void> {
    while (!this.#isClosed) {
      const question = { auth: loadKeys.operator, nodeId, waitMs: 10_000 };
      const answer = (await line.ask(pattern.leaseAcquire, question)) as LeaseAcquired;
      if (answer === null) continue;
      if (this.#granted.has(answer.job.jobId)) throw new Error(`job ${answer.job.jobId} was granted twice`);
      this.#granted.set(answer.job.jobId, performance.now());
    }
  }
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** One connection with Nest's framing: `length#json`, one question at a time. */
class Line {
  #text = '';
  #answer: ((value: unknown) => void) | null = null;
  #id = 0;

  constructor(readonly socket: Socket) {
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => this.read(String(chunk)));
    socket.on('error', () => undefined);
  }

  ask(name: string, data: object): Promise<unknown> {
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#id += 1;
      const text = JSON.stringify({ pattern: name, data, id: String(this.#id) });
      this.socket.write(`${text.length}#${text}`);
    });
  }

  private read(chunk: string): void {
    this.#text += chunk;
    for (;;) {
      const mark = this.#text.indexOf('#');
      const length = Number(this.#text.slice(0, mark));
      if (mark < 0 || this.#text.length < mark + 1 + length) return;
      const message = JSON.parse(this.#text.slice(mark + 1, mark + 1 + length)) as {
        id: string;
        response?: unknown;
        err?: unknown;
      };
      this.#text = this.#text.slice(mark + 1 + length);
      if (message.id !== String(this.#id) || this.#answer === null) continue;
      const answer = this.#answer;
      this.#answer = null;
      if (message.err !== undefined) throw new Error(`a node was answered ${JSON.stringify(message.err)}`);
      answer(message.response);
    }
  }
}
