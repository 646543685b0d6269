/** Nest's servers of dispatch, which put aside what they cannot hand to a handler. */
import type { Socket } from 'node:net';
import {
  ServerNats,
  ServerTCP,
  type BaseRpcContext,
  type IncomingEvent,
  type NatsContext,
  type TcpContext,
  type TcpOptions,
  type TcpSocket,
} from '@nestjs/microservices';
import type { NatsConnection } from '@nats-io/transport-node';
import { dispatchQueue } from '#libs/messaging';
import type { DeadLetters, Letter } from '../overload/dead-letters.js';
import { GuardedSocket } from './guarded-socket.js';

const rule = 'libs/messaging, patterns';

const unknownPattern: Letter['error'] = {
  code: 'PATTERN_UNKNOWN',
  detail: { expected: 'a pattern of dispatch', got: 'another', rule },
};
const unasked: Letter['error'] = {
  code: 'MESSAGE_MALFORMED',
  detail: { expected: 'a question in JSON: pattern, data and id', got: 'a message that is none', rule },
};
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

  override async handleMessage(socket: never, message: { pattern?: unknown; data?: unknown; id?: unknown }) {
    const pattern = typeof message?.pattern === 'string' ? message.pattern : '';
    if (message?.id !== undefined && this.getHandlerByPattern(pattern) === null) {
      void this.letters.put({ source: 'tcp', pattern, actor: null, error: unknownPattern, payload: message.data });
    }
    return super.handleMessage(socket, message);
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
