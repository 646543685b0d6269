/** The console under attack: what is served, who may sign in, what a cookie is good for, and when it ends. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleSession } from '#libs/persistence';
import { readCorsOrigins } from '../src/core/config/cors.js';
import { Streams } from '../src/core/overload/streams.js';
import { keys, startTestPlane, type KeyName, type TestPlane } from './harness.js';
import { submitFunded } from './job-fixture.js';

let test: TestPlane;
const consoleDirectory = mkdtempSync(join(tmpdir(), 'veritrain-console-'));
beforeAll(async () => {
  mkdirSync(join(consoleDirectory, 'served', 'assets'), { recursive: true });
  writeFileSync(join(consoleDirectory, 'served', 'console.html'), '<!doctype html><title>shell</title>');
  writeFileSync(join(consoleDirectory, 'served', 'assets', 'main-abc.js'), 'export {};');
  writeFileSync(join(consoleDirectory, 'secret.txt'), 'secret');
  test = await startTestPlane({ consoleDirectory });
});
afterAll(async () => {
  await test.stop();
  rmSync(consoleDirectory, { recursive: true });
});

const server = () => request(test.plane.app.getHttpServer());
const host = 'console.test';
const own = { host, origin: `https://${host}`, 'x-veritrain-console': '1', 'sec-fetch-site': 'same-origin' };

type Headers = Readonly<Record<string, string>>;

const enter = (key: string, headers: Headers = own) => server().post('/console/session').set(headers).send({ key });

const signIn = (who: KeyName, headers: Headers = {}): Promise<string> => signInWith(keys[who], headers);

async function signInWith(key: string, headers: Headers = {}): Promise<string> {
  const { headers: answer } = await enter(key, { ...own, ...headers }).expect(204);
  return answer['set-cookie']![0]!.split(';')[0]!;
}

const withCookie = (cookie: string, headers: Headers = own) => ({
  get: (path: string) => server().get(path).set({ host, cookie }),
  post: (path: string, body: object) =>
    server()
      .post(path)
      .set({ ...headers, cookie, 'idempotency-key': `console-${Math.random()}` })
      .send(body),
});

describe('files', () => {
  it('are one shell for every path, under a policy without anything inline or of others', async () => {
    for (const path of ['/console', '/console/jobs/0x12', '/console/nodes?x=1']) {
      const { headers, text } = await server().get(path).expect(200);
      expect(text).toContain('shell');
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      const policy = headers['content-security-policy']!;
      expect(policy).toContain(`default-src 'none'`);
      expect(policy).toContain(`frame-ancestors 'none'`);
      expect(policy).toContain(`trusted-types 'none'`);
      expect(policy).not.toMatch(/'unsafe-(inline|eval)'|https?:|\*/);
    }
  });

  it('are those of the build, kept for ever by their names, and no path leads elsewhere', async () => {
    const { headers } = await server().get('/console/assets/main-abc.js').expect(200);
    expect(headers).toMatchObject({ 'cache-control': expect.stringContaining('immutable') });
    expect(headers['content-type']).toContain('javascript');
    for (const path of ['..%2f..%2fsecret.txt', '%2e%2e/secret.txt', 'none.js', '..%5csecret.txt']) {
      const { text } = await server().get(`/console/assets/${path}`);
      expect(text).not.toContain('secret"');
      expect(text === 'secret').toBe(false);
    }
  });

  it('are pointed to by /', async () => {
    const seen = await server().get('/').set('accept', 'text/html').expect(303);
    expect(seen.headers['location']).toBe('/console');
    expect((await server().get('/').expect(200)).body).toMatchObject({ console: '/console', documentation: '/docs' });
  });
});

describe('signing in', () => {
  it('gives a cookie that no script reads and no other site sends, and says who it is', async () => {
    const { headers } = await enter(keys.client).expect(204);
    const [cookie] = headers['set-cookie'] as unknown as string[];
    expect(cookie).toMatch(/^__Host-vt=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect(headers['cache-control']).toBe('no-store');
    const me = await withCookie(cookie!.split(';')[0]!).get('/v1/me').expect(200);
    expect(me.body).toMatchObject({ keyId: 'client', tenant: 'acme', role: 'client' });
    expect(me.body.sessionEndsAt).toMatch(/^2026-01-01T12:00/);
    expect(me.headers['cache-control']).toBe('no-store');
    expect((await test.as('client').get('/v1/me').expect(200)).body.sessionEndsAt).toBeNull();
  });

  it('is offered without a refusal: who only opens the page stands in no audit log', async () => {
    const newest = async () => (await test.as('admin').get('/v1/audit').expect(200)).body.items[0];
    const cookie = await signIn('client');
    const before = await newest();
    expect(before.action).toBe('session.open');
    expect((await server().get('/console/session').set({ host }).expect(200)).body.hasCookie).toBe(false);
    expect((await withCookie(cookie).get('/console/session').expect(200)).body.hasCookie).toBe(true);
    expect(await newest()).toEqual(before);
  });

  it('keeps no cookie, but its digest', async () => {
    const cookie = await signIn('client');
    const rows = await test.plane.database.dataSource.manager.find(ConsoleSession);
    expect(JSON.stringify(rows)).not.toContain(cookie.slice(10));
    expect(test.logs.join('')).not.toContain(cookie.slice(10));
  });

  it('refuses a wrong key, a forged sign-in of another site, and plain http', async () => {
    expect((await enter('vt_client_wrong-secret-0123456789').expect(401)).body.code).toBe('AUTH_UNKNOWN');
    expect((await enter('').expect(401)).body.code).toBe('AUTH_MISSING');
    const wrongs: readonly Headers[] = [
      { ...own, origin: 'https://evil.test' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-site': 'same-site' },
      { ...own, 'x-veritrain-console': '' },
      { host, 'x-veritrain-console': '1' },
      { ...own, origin: 'null' },
    ];
    for (const wrong of wrongs) {
      expect((await enter(keys.client, wrong).expect(403)).body.code).toBe('CSRF_ORIGIN');
    }
    const plain = { ...own, origin: `http://${host}` };
    expect((await enter(keys.client, plain).expect(403)).body.code).toBe('CONSOLE_INSECURE');
    await enter(keys.client, { ...own, host: '127.0.0.1:4100', origin: 'http://127.0.0.1:4100' }).expect(204);
  });

  it('takes no cookie that somebody planted, and ends the one before', async () => {
    const planted = `__Host-vt=${'A'.repeat(43)}`;
    const first = await signIn('client', { cookie: planted });
    expect(first).not.toBe(planted);
    expect((await withCookie(planted).get('/v1/me').expect(401)).body.code).toBe('SESSION_ENDED');
    const second = await signIn('reviewer', { cookie: first });
    expect((await withCookie(first).get('/v1/me').expect(401)).body.code).toBe('SESSION_ENDED');
    expect((await withCookie(second).get('/v1/me').expect(200)).body.role).toBe('reviewer');
  });
});

describe('a cookie', () => {
  it('changes nothing without the header and the origin of the console', async () => {
    const cookie = await signIn('admin');
    const wanted = { tenant: 'acme', role: 'client' };
    const wrongs: readonly Headers[] = [
      { host, origin: `https://${host}` },
      { ...own, origin: 'https://evil.test' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { host, 'x-veritrain-console': '1' },
    ];
    for (const wrong of wrongs) {
      const { body } = await withCookie(cookie, wrong).post('/v1/keys', wanted).expect(403);
      expect(body.code).toBe('CSRF_ORIGIN');
    }
    const read = server().get('/v1/keys').set({ host, cookie, 'sec-fetch-site': 'cross-site' });
    expect((await read.expect(403)).body.code).toBe('CSRF_ORIGIN');
    await withCookie(cookie).post('/v1/keys', wanted).expect(201);
  });

  it('is good for REST alone; a key that is sent beside it counts', async () => {
    const cookie = await signIn('admin');
    const graph = await server()
      .post('/graphql')
      .set({ ...own, cookie })
      .send({ query: '{ __typename }' });
    expect(graph.status).toBe(401);
    const both = server()
      .get('/v1/me')
      .set({ host, cookie, authorization: `Bearer ${keys.client}` });
    expect((await both.expect(200)).body.role).toBe('client');
  });

  it('reaches what its key reaches and no more', async () => {
    const walls: readonly (readonly [KeyName, string, number])[] = [
      ['client', '/v1/jobs', 200],
      ['client', '/v1/keys', 403],
      ['client', '/v1/audit', 403],
      ['operator', '/v1/nodes', 200],
      ['operator', '/v1/jobs', 403],
      ['operator', '/v1/keys', 403],
      ['reviewer', '/v1/jobs', 200],
      ['reviewer', '/v1/datasets', 403],
      ['tenantAdmin', '/v1/keys', 200],
      ['tenantAdmin', '/v1/dead-letters', 403],
    ];
    for (const [who, path, status] of walls) {
      expect([who, path, (await withCookie(await signIn(who)).get(path)).status]).toEqual([who, path, status]);
    }
    const { jobId } = await submitFunded(test);
    const other = withCookie(await signIn('otherClient'));
    await other.get(`/v1/jobs/${jobId}`).expect(404);
    await other.get(`/v1/jobs/${jobId}/events`).expect(404);
    await other.post(`/v1/jobs/${jobId}/cancel`, {}).expect(404);
    await withCookie(await signIn('reviewer'))
      .post(`/v1/jobs/${jobId}/cancel`, {})
      .expect(403);
  });

  it('ends when somebody signs out, idle after half an hour, and after twelve hours in any case', async () => {
    const gone = await signIn('client');
    await server().delete('/console/session').set({ host, cookie: gone }).expect(403);
    const out = await server()
      .delete('/console/session')
      .set({ ...own, cookie: gone })
      .expect(204);
    expect(out.headers['set-cookie']![0]).toContain('Max-Age=0');
    await withCookie(gone).get('/v1/me').expect(401);
    const idle = await signIn('client');
    test.clock.pass(29 * 60);
    await withCookie(idle).get('/v1/me').expect(200);
    test.clock.pass(29 * 60);
    await withCookie(idle).get('/v1/me').expect(200);
    test.clock.pass(31 * 60);
    await withCookie(idle).get('/v1/me').expect(401);
    const busy = await signIn('client');
    for (let half = 0; half < 24; half += 1) {
      await withCookie(busy).get('/v1/me').expect(200);
      test.clock.pass(29.99 * 60);
    }
    await withCookie(busy).get('/v1/me').expect(200);
    test.clock.pass(60);
    await withCookie(busy).get('/v1/me').expect(401);
  });
});

describe('an end', () => {
  const following = (): number => test.plane.app.get(Streams).count;
  /** Opens the events of a job, and waits for them to end. */
  const follow = (jobId: string, cookie: string): { opened: Promise<void>; ended: Promise<void> } => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const ended = new Promise<void>((resolve, reject) => {
      const url = `http://127.0.0.1:${test.plane.httpPort}/v1/jobs/${jobId}/events`;
      get(url, { headers: { cookie } }, (response) => {
        response.once('data', () => open());
        response.on('end', resolve);
      }).on('error', reject);
    });
    return { opened, ended };
  };

  it('of a key ends its sessions and what they follow, of a session what it follows', async () => {
    const admin = withCookie(await signIn('admin'));
    const { body } = await admin.post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201);
    const made = body as { id: string; key: string };
    const { jobId } = await submitFunded(test);
    const [cookie, other] = [await signInWith(made.key), await signInWith(made.key)];
    const streams = [follow(jobId, cookie), follow(jobId, other)];
    await Promise.all(streams.map(({ opened }) => opened));
    const before = following();
    await server()
      .delete('/console/session')
      .set({ ...own, cookie: other })
      .expect(204);
    await streams[1]!.ended;
    expect(following()).toBe(before - 1);
    await withCookie(cookie).get('/v1/me').expect(200);
    await admin.post(`/v1/keys/${made.id}/revoke`, {}).expect(200);
    await streams[0]!.ended;
    expect((await withCookie(cookie).get('/v1/me').expect(401)).body.code).toBe('SESSION_ENDED');
    expect((await enter(made.key).expect(401)).body.code).toBe('AUTH_UNKNOWN');
  });
});

it('tries of one address and of one key are so many a minute', async () => {
  const tries = await Promise.all(Array.from({ length: 40 }, () => enter('vt_guess_wrong-secret-0123456789')));
  expect(new Set(tries.map(({ status }) => status))).toEqual(new Set([401, 429]));
  expect(tries.find(({ status }) => status === 429)!.headers['retry-after']).toMatch(/^\d+$/);
});

describe('pages of others', () => {
  const preflight = (plane: TestPlane, origin: string) =>
    request(plane.plane.app.getHttpServer())
      .options('/v1/jobs')
      .set({ origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' });

  it('may ask with a key where the settings name their origin, and never with the cookie', async () => {
    const open = await startTestPlane({ corsOrigins: ['https://app.test'] });
    const { headers } = await preflight(open, 'https://app.test');
    expect(headers['access-control-allow-origin']).toBe('https://app.test');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect((await preflight(open, 'https://evil.test')).headers['access-control-allow-origin']).toBeUndefined();
    expect((await preflight(test, 'https://app.test')).headers['access-control-allow-origin']).toBeUndefined();
    await open.stop();
  });

  it('are named as origins, or the settings are refused', () => {
    expect(readCorsOrigins('https://a.test, http://127.0.0.1:8080')).toEqual([
      'https://a.test',
      'http://127.0.0.1:8080',
    ]);
    expect(readCorsOrigins(undefined)).toEqual([]);
    for (const wrong of ['*', 'https://a.test/', 'a.test', 'https://a.test,', 'null']) {
      expect(() => readCorsOrigins(wrong)).toThrow('CONFIG_CORS');
    }
  });
});
