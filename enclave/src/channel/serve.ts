/** The enclave's end of the channel: one host connection, requests in, replies and events out. */
import type { Socket } from 'node:net';
import { encodeFrame, frameDecoder, parseRequest, type EnclaveEvent, type Request } from '#libs/wire/channel';
import { failureOf } from '../failure.js';

interface RequestHandler {
  handle(request: Request): Promise<Uint8Array>;
}

/** @returns when the event is with the operating system, or the connection is gone */
export type Emit = (event: EnclaveEvent) => Promise<void>;

/**
 * Serves until the connection ends. A stream that is not frames of deterministic CBOR ends it; a message of the wrong
 * shape is answered with its error.
 *
 * @param makeHandler  is given the way to send events
 */
export function serveConnection(socket: Socket, makeHandler: (emit: Emit) => RequestHandler): void {
  const send = (message: unknown): Promise<void> =>
    new Promise((resolve) => (socket.destroyed ? resolve() : socket.write(encodeFrame(message), () => resolve())));
  const handler = makeHandler(send);
  const decoder = frameDecoder();
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    let messages: unknown[];
    try {
      messages = decoder.push(chunk);
    } catch (error) {
      process.stderr.write(`${JSON.stringify(failureOf(error))}\n`);
      socket.destroy();
      return;
    }
    for (const message of messages) void answer(message, handler, send);
  });
}

async function answer(
  message: unknown,
  handler: RequestHandler,
  send: (message: unknown) => Promise<void>,
): Promise<void> {
  const named: unknown = message instanceof Map ? message.get('id') : undefined;
  const id = Number.isSafeInteger(named) && Number(named) >= 0 ? Number(named) : 0;
  try {
    await send({ type: 'ok', id, body: await handler.handle(parseRequest(message)) });
  } catch (error) {
    await send({ type: 'error', id, ...failureOf(error) });
  }
}
