/** How many upgraded connections (WebSockets) one address may hold. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

export const socketsPerAddressMax = 64;

/** Destroys what is too many before the WebSocket server, which listens later, looks at it. */
export function limitSockets(server: Server): void {
  const held = new Map<string, number>();
  server.prependListener('upgrade', (request: IncomingMessage, socket: Duplex) => {
    const address = request.socket.remoteAddress ?? '';
    const count = held.get(address) ?? 0;
    if (count >= socketsPerAddressMax) {
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
