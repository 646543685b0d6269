/** What the client of the control plane does with a server that sheds its requests. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createApi } from './api.js';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Sheds for so long after its first request. */
async function shedding(forMs: number, retryAfter: string): Promise<{ readonly url: string; asked(): number }> {
  let asked = 0;
  let until = Infinity;
  const server = createServer((_, response) => {
    if (asked++ === 0) until = performance.now() + forMs;
    if (performance.now() < until) response.writeHead(503, { 'retry-after': retryAfter }).end('{}');
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"state":"ready"}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

it('waits as long as Retry-After says, where its own patience would be over', async () => {
  const { url, asked } = await shedding(1900, '1');
  expect(await createApi(url, 'test key').get('jobs/1')).toEqual({ state: 'ready' });
  expect(asked()).toBe(3);
});

it('goes on asking a server that sheds beyond the attempts of one that fails', async () => {
  const { url, asked } = await shedding(1500, '0.2');
  expect(await createApi(url, 'test key').get('jobs/1')).toEqual({ state: 'ready' });
  expect(asked()).toBeGreaterThan(4);
});

it('gives up after its attempts, and takes no Retry-After that is none for a pause', async () => {
  const { url, asked } = await shedding(60_000, 'soon');
  await expect(createApi(url, 'test key').get('jobs/1')).rejects.toMatchObject({ code: 'CONTROL_PLANE_UNREACHABLE' });
  expect(asked()).toBe(4);
});

it('asks the other replica at once', async () => {
  const [away, here] = [await shedding(60_000, '9'), await shedding(0, '0')];
  const began = performance.now();
  expect(await createApi([away.url, here.url], 'test key').get('jobs/1')).toEqual({ state: 'ready' });
  expect(performance.now() - began).toBeLessThan(5000);
});

it('uploads shards of any length', async () => {
  const { url } = await shedding(0, '0');
  await expect(createApi(url, 'test key').put('datasets/1/shards/0', new Uint8Array(586))).resolves.toBeUndefined();
});
