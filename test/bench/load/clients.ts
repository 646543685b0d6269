/** Clients that cost little: one kept connection each, requests made beforehand, of an answer no more read than its end. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request as bytes, ready to be sent. */
export function requestOf(key: string, idempotencyKey: string, body: string): Buffer {
  const head = [
    'POST /v1/jobs HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `idempotency-key: ${idempotencyKey}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

interface Sent {
  /** Performance time. */
  readonly at: number;
  readonly answered: number;
}

/**
 * Sends every request, `count` at a time, to one port after the other: each as soon as a client is free, or not before its turn at `perSecond`. A
 * request that found no client free counts from its turn on: waiting is part of its time.
 * @throws Error unless each is answered with 201
 */
export async function submitAll(
  ports: readonly number[],
  requests: readonly Buffer[],
  count: number,
  perSecond: number | null = null,
): Promise<Sent[]> {
  const sent: Sent[] = [];
  let next = 0;
  const began = performance.now();
  const client = async (number: number): Promise<void> => {
    const line = new Line(await opened(ports[number % ports.length]!));
    while (next < requests.length) {
      const mine = next;
      next += 1;
      const turn = perSecond === null ? 0 : began + (1000 * mine) / perSecond;
      const early = turn - performance.now();
      if (early > 0) await sleep(early);
      const at = perSecond === null ? performance.now() : turn;
      const status = await line.ask(requests[mine]!);
      if (status !== 201) throw new Error(`a submission was answered with ${status}`);
      sent[mine] = { at, answered: performance.now() };
    }
    line.socket.destroy();
  };
  await Promise.all(Array.from({ length: count }, (_, number) => client(number)));
  return sent;
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.setNoDelay();
    socket.once('error', reject);
  });
}

class Line {
  #text = '';
  #answered: ((status: number) => void) | null = null;

  constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => this.read(String(chunk)));
  }

  ask(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.socket.once('close', () => reject(new Error('the replica closed a connection')));
      this.socket.write(request);
    });
  }

  private read(chunk: string): void {
    this.#text += chunk;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text);
    if (length === null) throw new Error('an answer without a length');
    if (this.#text.length < end + 4 + Number(length[1])) return;
    const status = Number(this.#text.slice(9, 12));
    this.#text = '';
    this.socket.removeAllListeners('close');
    this.#answered!(status);
  }
}
