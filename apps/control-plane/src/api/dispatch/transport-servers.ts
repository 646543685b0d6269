/** Nest's servers of dispatch, which put aside what they cannot hand to a handler. */
import type { Socket } from 'node:net';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  ServerNats,
  ServerTCP,
  type BaseRpcContext,
  type IncomingEvent,
  type IncomingRequest,
  type NatsContext,
  type TcpContext,
  type TcpOptions,
  type TcpSocket,
} from '@nestjs/microservices';
import { dispatchQueue } from '#libs/wire';
import type { DeadLetters, Letter } from '../../core/events/dead-letters.js';
import { refusal } from '../../core/problem/codes.js';
import { problemOf } from '../../core/problem/problem.js';
import { GuardedSocket } from './guarded-socket.js';

const rule = 'libs/wire, patterns';

const unknownPattern = refusal('PATTERN_UNKNOWN', { expected: 'a pattern of dispatch', got: 'another', rule });
const unasked = refusal('MESSAGE_MALFORMED', {
  expected: 'a question in JSON: pattern, data and id',
  got: 'a message that is none',
  rule,
});
const brokenFrame: Letter['error'] = {
  code: 'FRAME_MALFORMED',
  detail: { expected: 'frames of length#json within their limit', got: 'other bytes', rule },
};

export class DispatchOverTcp extends ServerTCP {
  constructor(
    options: NonNullable<TcpOptions['options']>,
    private readonly letters: DeadLetters,
  ) {
    super(options);
  }

  /** A question that no handler has is answered like any other that is refused. */
  override async handleMessage(socket: TcpSocket, message: IncomingRequest): Promise<void> {
    const { pattern, data, id } = message;
    const isText = typeof pattern === 'string';
    if (id === undefined || (isText && this.getHandlerByPattern(pattern) !== null)) {
      return super.handleMessage(socket as never, message) as Promise<void>;
    }
    const error = isText ? unknownPattern : unasked;
    void this.letters.put({ source: 'tcp', pattern: isText ? pattern : '', actor: null, error, payload: data });
    socket.sendMessage({ id, err: problemOf(error, 'urn:none', 'libs/wire'), isDisposed: true });
  }

  override async handleEvent(pattern: string, { data }: IncomingEvent, _context: TcpContext): Promise<void> {
    await this.letters.put({ source: 'tcp', pattern: String(pattern), actor: null, error: unasked, payload: data });
  }

  protected override handleError(error: string): void {
    const payload = Buffer.from(String(error).slice(0, 200));
    void this.letters.put({ source: 'tcp', pattern: '', actor: null, error: brokenFrame, payload });
  }

  protected override getSocketInstance(socket: Socket): TcpSocket {
    const { maxBufferSize, maxSendBufferSize } = this;
    return new GuardedSocket(socket, {
      ...(maxBufferSize !== undefined && { maxBufferSize }),
      ...(maxSendBufferSize !== undefined && { maxSendBufferSize }),
    });
  }

  override bindHandler(socket: Socket): void {
    socket.setNoDelay();
    super.bindHandler(socket);
  }
}

/** On the connection that the bus has. */
export class DispatchOverNats extends ServerNats {
  readonly #connection: Promise<NatsConnection>;

  constructor(
    connection: Promise<NatsConnection>,
    private readonly letters: DeadLetters,
  ) {
    super({ queue: dispatchQueue });
    this.#connection = connection;
  }

  override createNatsClient(): Promise<NatsConnection> {
    return this.#connection;
  }

  override async handleMessage(channel: string, message: Parameters<ServerNats['handleMessage']>[1]): Promise<unknown> {
    try {
      return await super.handleMessage(channel, message);
    } catch {
      // What cannot be read cannot be answered either.
      const payload = Buffer.from((message as { data: Uint8Array }).data);
      return this.letters.put({ source: 'nats', pattern: channel, actor: null, error: unasked, payload });
    }
  }

  override async handleEvent(pattern: string, { data }: IncomingEvent, _context: BaseRpcContext | NatsContext) {
    await this.letters.put({ source: 'nats', pattern, actor: null, error: unasked, payload: data });
  }
}
