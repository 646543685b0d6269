import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { openLogDatabase } from './database.js';

/** A message of PostgreSQL's protocol: type, length with itself, body. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

it('outlives a server that ends a connection in the moment of its beginning', async () => {
  const why = 'terminating connection due to administrator command';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.end(
        Buffer.concat([
          message('R', Buffer.alloc(4)),
          message('Z', Buffer.from('I')),
          message('E', Buffer.from(`SFATAL\0C57P01\0M${why}\0\0`)),
        ]),
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(openLogDatabase({ url: `postgresql://test@127.0.0.1:${port}/test` })).rejects.toThrow();
  server.close();
});
