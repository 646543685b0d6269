/** Sessions of the console as their owner sees them: listed, and ended one by one. */
import request from 'supertest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keys, startTestPlane, type TestPlane } from './harness.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const host = 'console.test';
const own = { host, origin: `https://${host}`, 'x-veritrain-console': '1', 'sec-fetch-site': 'same-origin' };
const server = () => request(test.plane.app.getHttpServer());

async function signIn(key: string): Promise<string> {
  const { headers } = await server().post('/console/session').set(own).send({ key }).expect(204);
  return headers['set-cookie']![0]!.split(';')[0]!;
}

const as = (cookie: string, path: string) => server().get(path).set({ host, cookie });

interface Listed {
  readonly id: string;
  readonly isThis: boolean;
}

it('are listed to whoever has them, and ended one by one', async () => {
  const made = (await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'client' }).expect(201)).body as {
    key: string;
  };
  const [here, there] = [await signIn(made.key), await signIn(made.key)];
  const list = async (cookie: string) => (await as(cookie, '/v1/me/sessions').expect(200)).body as Listed[];
  const all = await list(here);
  expect(all.map(({ isThis }) => isThis).sort()).toEqual([false, true]);
  expect(JSON.stringify(all)).not.toContain(here.slice(10));
  const other = all.find(({ isThis }) => !isThis)!;
  const end = (cookie: string, headers: object = own) =>
    server()
      .delete(`/v1/me/sessions/${other.id}`)
      .set({ ...headers, cookie });
  await end(here, { host }).expect(403);
  expect((await end(await signIn(keys.client)).expect(404)).body.code).toBe('SESSION_UNKNOWN');
  await end(here).expect(204);
  await as(there, '/v1/me').expect(401);
  expect(await list(here)).toHaveLength(1);
});
