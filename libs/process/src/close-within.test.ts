/** The end of a server whose client says nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { closeWithinGrace } from './close-within.js';

it('answers what it was asked before the grace is over, and cuts who says nothing', async () => {
  const server = createServer((_request, response) => void setTimeout(() => response.end('late'), 100));
  closeWithinGrace(server, 500);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const silent = connect(port, '127.0.0.1');
  silent.on('error', () => undefined);
  await once(silent, 'connect');
  const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  await once(server, 'request');
  const closed = new Promise((resolve) => server.close(resolve));
  expect(await answer).toBe('late');
  await closed;
  await once(silent, 'close');
}, 10_000);
