/** Upgraded connections (WebSockets): where they may lead, and how many of them one address may hold. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Metrics } from '#libs/telemetry';
import { clientAddress, type TrustProxy } from '../config/trust-proxy.js';

export const socketsPerAddressMax = 64;
/** Whoever asks for another path has no server that takes the connection, and would hold it. */
const path = '/graphql';
const notFound = 'HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

/** Destroys what is too many before the WebSocket server, which listens later, looks at it. */
export function limitSockets(server: Server, metrics: Metrics, trust: TrustProxy | null): void {
  const held = new Map<string, number>();
  server.prependListener('upgrade', (request: IncomingMessage, socket: Duplex) => {
    // Node takes its own listener off an upgraded connection: one that breaks would end the process.
    socket.on('error', () => undefined);
    if (request.url?.split('?')[0] !== path) {
      socket.end(notFound, () => socket.destroy());
      return;
    }
    const address = clientAddress(request, trust);
    const count = held.get(address) ?? 0;
    if (count >= socketsPerAddressMax) {
      metrics.refused.inc({ reason: 'WebSockets of an address' });
      socket.destroy();
      return;
    }
    held.set(address, count + 1);
    socket.once('close', () => {
      const left = held.get(address)! - 1;
      if (left === 0) held.delete(address);
      else held.set(address, left);
    });
  });
}
