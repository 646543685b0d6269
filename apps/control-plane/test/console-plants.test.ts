/** Faults planted between the console and whoever attacks it: each is found, and nothing is found without one. */
import { createServer, request as ask, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleAttack } from './console-attack.js';
import { keys, startTestPlane, StillClock, type TestPlane } from './harness.js';

/** Attempts to sign in are counted by the minute: each attack has one of its own. */
class Minutes extends StillClock {
  minutes = 0;

  override monotonic(): number {
    return super.monotonic() + 60_000 * this.minutes;
  }
}

const clock = new Minutes();
let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane({}, { clock });
});
afterAll(async () => test.stop());

type Headers = Record<string, string | string[] | undefined>;

interface Plant {
  /** What the control plane hears instead. */
  readonly request?: (headers: Headers, port: number) => Headers;
  /** What whoever asked hears instead. */
  readonly response?: (headers: Headers) => Headers;
}

/** Serves what the control plane serves, but for the fault. */
function startPlanted({ request = (headers) => headers, response = (headers) => headers }: Plant): Promise<Server> {
  const server = createServer((asked, answer) => {
    const { port } = server.address() as AddressInfo;
    const headers = request({ ...asked.headers }, port);
    const passed = ask(
      { host: '127.0.0.1', port: test.plane.httpPort, path: asked.url, method: asked.method, headers },
      (got) => {
        answer.writeHead(got.statusCode ?? 502, response({ ...got.headers } satisfies IncomingHttpHeaders as Headers));
        got.pipe(answer);
      },
    );
    asked.pipe(passed);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function holesWith(plant: Plant): Promise<string[]> {
  const server = await startPlanted(plant);
  clock.minutes += 2;
  try {
    return await new ConsoleAttack((server.address() as AddressInfo).port).holes();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const policy = (change: (text: string) => string) => (headers: Headers) => ({
  ...headers,
  ...(headers['content-security-policy'] !== undefined && {
    'content-security-policy': change(String(headers['content-security-policy'])),
  }),
});
const cookie = (change: (text: string) => string) => (headers: Headers) => ({
  ...headers,
  ...(headers['set-cookie'] !== undefined && {
    'set-cookie': [headers['set-cookie']].flat().map((one) => change(String(one))),
  }),
});
const without = (headers: Headers, ...names: readonly string[]): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

const planted: readonly (readonly [what: string, plant: Plant, hole: string | RegExp])[] = [
  ['no policy', { response: (headers) => without(headers, 'content-security-policy') }, /^policy of \/console without/],
  [
    'inline script',
    { response: policy((text) => text.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'")) },
    /allows too much/,
  ],
  [
    'scripts of everybody',
    { response: policy((text) => text.replace("script-src 'self'", 'script-src *')) },
    /allows too much/,
  ],
  [
    'frames of others',
    { response: policy((text) => text.replace("frame-ancestors 'none'", "frame-ancestors 'self'")) },
    /frame-ancestors/,
  ],
  [
    'markup from text',
    { response: policy((text) => text.replace("; require-trusted-types-for 'script'", '')) },
    /trusted-types/,
  ],
  ['a page that is kept', { response: (headers) => without(headers, 'cache-control') }, 'is kept'],
  [
    'a cookie that scripts read',
    { response: cookie((text) => text.replace('; HttpOnly', '')) },
    'cookie without HttpOnly',
  ],
  [
    'a cookie that other sites send',
    { response: cookie((text) => text.replace('Strict', 'None')) },
    'cookie without SameSite=Strict',
  ],
  [
    'no look at the origin',
    {
      request: (headers, port) =>
        headers['origin'] === undefined ? headers : { ...headers, origin: `http://127.0.0.1:${port}` },
    },
    'a change from another origin counts',
  ],
  [
    'no look at the site',
    { request: (headers) => without(headers, 'sec-fetch-site') },
    'a change from another site counts',
  ],
  [
    'no look at the header',
    { request: (headers) => ({ ...headers, 'x-veritrain-console': '1' }) },
    'a change from no header of the console counts',
  ],
  [
    'a wall that is down',
    {
      request: (headers) =>
        headers['cookie'] === undefined ? headers : { ...headers, authorization: `Bearer ${keys.admin}` },
    },
    'client reads /v1/keys',
  ],
  [
    'a session that does not end',
    {
      request: (headers) => ({
        ...headers,
        ...(headers['cookie'] === undefined ? {} : { authorization: `Bearer ${keys.client}` }),
      }),
    },
    'who signed out is still in',
  ],
];

it('holds', async () => {
  expect(await holesWith({})).toEqual([]);
});

it.each(planted)('%s is found', async (_what, plant, hole) => {
  const holes = await holesWith(plant);
  expect(holes.some((one) => (typeof hole === 'string' ? one.includes(hole) : hole.test(one)))).toBe(true);
});
