/** What a simulated node asks over: one question at a time. */
import { connect, type Socket } from 'node:net';
import { connect as connectNats } from '@nats-io/transport-node';
import { natsOptions, type NatsAddress } from '#libs/wire';

export interface Line {
  /** @throws Error of the answer */
  ask(name: string, data: object): Promise<unknown>;
  close(): void;
}

interface Answer {
  readonly id: string;
  readonly response?: unknown;
  readonly err?: unknown;
}

const answeredWithinMilliseconds = 120_000;

export async function dialNats(address: NatsAddress): Promise<Line> {
  const connection = await connectNats(await natsOptions(address, 'veritrain load'));
  let closed = false;
  return {
    async ask(name, data) {
      const question = JSON.stringify({ pattern: name, data, id: '1' });
      const asked = connection.request(name, question, { timeout: answeredWithinMilliseconds });
      // Who hangs up is asked nothing more.
      const message = await asked.catch((error: unknown) =>
        closed ? new Promise<never>(() => undefined) : Promise.reject(error as Error),
      );
      return responseOf(message.json<Answer>());
    },
    close() {
      closed = true;
      void connection.close();
    },
  };
}

export async function dialTcp(port: number): Promise<Line> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const dialled = connect(port, '127.0.0.1', () => resolve(dialled));
    dialled.once('error', reject);
  });
  return new TcpLine(socket);
}

function responseOf({ response, err }: Omit<Answer, 'id'>): unknown {
  if (err !== undefined && err !== null) throw new Error(`a node was answered ${JSON.stringify(err)}`);
  return response;
}

/** Nest's framing: `length#json`. */
class TcpLine implements Line {
  #text = '';
  #answer: ((answer: Answer) => void) | null = null;
  #id = 0;

  constructor(private readonly socket: Socket) {
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => this.read(String(chunk)));
    socket.on('error', () => undefined);
  }

  async ask(name: string, data: object): Promise<unknown> {
    const answer = await new Promise<Answer>((resolve) => {
      this.#answer = resolve;
      this.#id += 1;
      const text = JSON.stringify({ pattern: name, data, id: String(this.#id) });
      this.socket.write(`${text.length}#${text}`);
    });
    return responseOf(answer);
  }

  close(): void {
    this.socket.destroy();
  }

  private read(chunk: string): void {
    this.#text += chunk;
    for (;;) {
      const mark = this.#text.indexOf('#');
      const length = Number(this.#text.slice(0, mark));
      if (mark < 0 || this.#text.length < mark + 1 + length) return;
      const message = JSON.parse(this.#text.slice(mark + 1, mark + 1 + length)) as Answer;
      this.#text = this.#text.slice(mark + 1 + length);
      if (message.id !== String(this.#id) || this.#answer === null) continue;
      const answer = this.#answer;
      this.#answer = null;
      answer(message);
    }
  }
}
