/** What a handler may know of how its message came: whether the caller has hung up, and which certificate it showed. */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import { TLSSocket, type PeerCertificate } from 'node:tls';
import { TcpContext, type BaseRpcContext } from '@nestjs/microservices';

const signals = new WeakMap<Socket, AbortSignal>();
/** Messages over NATS have no connection: a caller that is gone is found out by its lease. */
const never = new AbortController().signal;
setMaxListeners(0, never);

/** An abort signal for each connection. */
export function hungUp(context: BaseRpcContext): AbortSignal {
  const socket = socketOf(context);
  if (socket === null) return never;
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  if (socket.destroyed) controller.abort();
  socket.once('close', () => controller.abort());
  signals.set(socket, controller.signal);
  return controller.signal;
}

/** Common name of the caller's certificate, which the server has verified; null where there is none. */
export function certificateName(context: BaseRpcContext): string | null {
  const socket = socketOf(context);
  if (!(socket instanceof TLSSocket)) return null;
  // Node gives null, whatever its types say, once the caller has gone.
  const certificate = socket.getPeerCertificate() as PeerCertificate | null;
  const name: unknown = certificate?.subject?.CN;
  return typeof name === 'string' ? name : '';
}

function socketOf(context: BaseRpcContext): Socket | null {
  return context instanceof TcpContext ? (context.getSocketRef() as { netSocket: Socket }).netSocket : null;
}
