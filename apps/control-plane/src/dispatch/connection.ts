/** Tells handlers that the caller has hung up: an abort signal for each connection. */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';

const signals = new WeakMap<Socket, AbortSignal>();

export function hungUp(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  if (socket.destroyed) controller.abort();
  socket.once('close', () => controller.abort());
  signals.set(socket, controller.signal);
  return controller.signal;
}
