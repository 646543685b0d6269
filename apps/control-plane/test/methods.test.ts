/** Every path of REST under every method: those that the document names are served, the others are refused by name. */
import request from 'supertest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Problem } from '#libs/wire';
import { keys, startTestPlane, type TestPlane } from './harness.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const methods = ['delete', 'get', 'head', 'options', 'patch', 'post', 'put'] as const;
const ask = (method: (typeof methods)[number], path: string) =>
  request(test.plane.app.getHttpServer())[method](path).set('authorization', `Bearer ${keys.admin}`);

async function documented(): Promise<[path: string, taken: Set<string>][]> {
  const { paths } = (await ask('get', '/openapi.json').expect(200)).body as { paths: Record<string, object> };
  return Object.entries(paths).map(([path, operations]) => {
    const taken = Object.keys(operations).flatMap((method) => (method === 'get' ? ['get', 'head'] : [method]));
    return [path.replace(/\{\w+\}/g, '7'), new Set(taken)];
  });
}

it('a method that a path does not take is answered 405, with those that it takes', async () => {
  const routes = await documented();
  expect(routes.length).toBeGreaterThan(40);
  for (const [path, taken] of routes) {
    const allow = [...taken].map((method) => method.toUpperCase()).sort();
    for (const method of methods.filter((name) => !taken.has(name))) {
      const { status, headers, body } = await ask(method, path);
      expect([method, path, status, headers['allow']]).toEqual([method, path, 405, allow.join(', ')]);
      if (method === 'head') continue;
      expect(headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(body).toMatchObject({
        ...{ status: 405, code: 'METHOD_NOT_ALLOWED', got: `${method.toUpperCase()} ${path}` },
        expected: `one of the methods of this path: ${allow.join(', ')}`,
        action: 'Use a method that Allow names: /docs lists what each does.',
      });
    }
  }
});

it('a path that the document does not name is unknown under every method', async () => {
  for (const method of methods.filter((name) => name !== 'head')) {
    const { status, headers, body } = await ask(method, '/v1/nothing');
    expect([status, (body as Problem).code, headers['allow']]).toEqual([404, 'ROUTE_UNKNOWN', undefined]);
  }
});
