/** Every route with every role, own and foreign tenant: what is not allowed here is forbidden. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeRegistered, pattern } from '#libs/messaging';
import { ApiKey } from '#libs/persistence';
import type { TestPlane, KeyName } from './harness.js';
import { codeOf, startTestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  hex,
  providers,
  refOf,
  register,
  storeBlob,
  submitFunded,
  type Fixture,
} from './job-fixture.js';

let test: TestPlane;
let job: Fixture;
let nodeId: string;
let leaseRef: { leaseId: string; fence: number };
let checkpointBlob: string;
beforeAll(async () => {
  test = await startTestPlane();
  nodeId = await register(test);
  job = await submitFunded(test);
  const grant = await acquire(test, nodeId);
  leaseRef = refOf(grant);
  await advanceTo(test, grant, 'running');
  checkpointBlob = await checkpoint(test, grant, job, 0);
});
afterAll(async () => test.stop());

const callers: readonly (KeyName | null)[] = [
  null,
  'client',
  'otherClient',
  'operator',
  'otherOperator',
  'reviewer',
  'otherReviewer',
  'admin',
];

interface Row {
  readonly method: 'get' | 'post' | 'put';
  readonly path: () => string;
  /** Status by caller; the others get 401 without and 403 with a key. */
  readonly expected: Partial<Record<KeyName, number>>;
}

const jobPath = () => `/v1/jobs/${job.jobId}`;
const shardPath = () => `/v1/datasets/${hex(job.dataset.id)}/shards/0`;
const readsJobs = { client: 200, reviewer: 200, admin: 200, otherClient: 404, otherReviewer: 404 };

/** Keyed by route as Nest registers it, so that a new route without a row is noticed. */
const matrix: Readonly<Record<string, Row>> = {
  'POST /v1/jobs': { method: 'post', path: () => '/v1/jobs', expected: { client: 400, otherClient: 400 } },
  'GET /v1/jobs': {
    method: 'get',
    path: () => '/v1/jobs',
    expected: { client: 200, otherClient: 200, reviewer: 200, otherReviewer: 200, admin: 200 },
  },
  'GET /v1/jobs/:id': { method: 'get', path: jobPath, expected: readsJobs },
  'POST /v1/jobs/:id/cancel': {
    method: 'post',
    path: () => `/v1/jobs/0x${'00'.repeat(32)}/cancel`,
    expected: { client: 404, otherClient: 404, admin: 404 },
  },
  'GET /v1/jobs/:id/result': {
    method: 'get',
    path: () => `${jobPath()}/result`,
    expected: { client: 409, otherClient: 404 },
  },
  'GET /v1/jobs/:id/bundle': {
    method: 'get',
    path: () => `${jobPath()}/bundle`,
    expected: { ...readsJobs, client: 409, reviewer: 409, admin: 409 },
  },
  'GET /v1/jobs/:id/events': {
    method: 'get',
    path: () => `/v1/jobs/0x${'00'.repeat(32)}/events`,
    expected: { client: 404, otherClient: 404, reviewer: 404, otherReviewer: 404, admin: 404 },
  },
  'POST /v1/datasets': { method: 'post', path: () => '/v1/datasets', expected: { client: 400, otherClient: 400 } },
  'GET /v1/datasets/:id': {
    method: 'get',
    path: () => `/v1/datasets/${hex(job.dataset.id)}`,
    expected: { client: 200, otherClient: 404, operator: 200, otherOperator: 404, admin: 200 },
  },
  'PUT /v1/datasets/:id/shards/:index': { method: 'put', path: shardPath, expected: { client: 422, otherClient: 404 } },
  'GET /v1/datasets/:id/shards/:index': {
    method: 'get',
    path: shardPath,
    expected: { client: 200, otherClient: 404, operator: 200, otherOperator: 404 },
  },
  'PUT /v1/blobs/:sha256': {
    method: 'put',
    path: () => `/v1/blobs/0x${'00'.repeat(32)}`,
    expected: { operator: 422, otherOperator: 422 },
  },
  'GET /v1/blobs/:sha256': {
    method: 'get',
    path: () => `/v1/blobs/${checkpointBlob}`,
    expected: { operator: 200, otherOperator: 404 },
  },
  'GET /v1/nodes': {
    method: 'get',
    path: () => '/v1/nodes',
    expected: {
      client: 200,
      otherClient: 200,
      operator: 200,
      otherOperator: 200,
      reviewer: 200,
      otherReviewer: 200,
      admin: 200,
    },
  },
  'GET /v1/nodes/:id': {
    method: 'get',
    path: () => `/v1/nodes/${nodeId}`,
    expected: {
      client: 200,
      otherClient: 200,
      operator: 200,
      otherOperator: 404,
      reviewer: 200,
      otherReviewer: 200,
      admin: 200,
    },
  },
  'GET /v1/audit': { method: 'get', path: () => '/v1/audit', expected: { admin: 200 } },
};
const open = ['GET /health/live', 'GET /health/ready', 'GET /metrics'];

describe('authorisation', () => {
  it('has a row for every route', async () => {
    const { body } = await test.as(null).get('/openapi.json').expect(200);
    const routes = Object.entries(body.paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(routes.sort()).toEqual([...Object.keys(matrix), ...open].sort());
  });

  for (const [route, row] of Object.entries(matrix)) {
    it(`holds for ${route}`, async () => {
      for (const who of callers) {
        const rest = test.as(who);
        const call = {
          get: () => rest.get(row.path()),
          post: () => rest.post(row.path(), {}),
          put: () => rest.put(row.path(), new Uint8Array(3)),
        }[row.method];
        const response = await call();
        const expected = who === null ? 401 : (row.expected[who] ?? 403);
        expect(response.status, `${who ?? 'nobody'}: ${response.text}`).toBe(expected);
        if (expected >= 400) expect(response.type).toBe('application/problem+json');
      }
    });
  }

  it('lists to each tenant its own jobs only, and all to admins', async () => {
    const seen = async (who: KeyName) => ((await test.as(who).get('/v1/jobs')).body.items as unknown[]).length;
    expect(await seen('client')).toBe(1);
    expect(await seen('reviewer')).toBe(1);
    expect(await seen('admin')).toBe(1);
    expect(await seen('otherClient')).toBe(0);
  });

  it('answers without a key where it is meant to', async () => {
    for (const route of open) await test.as(null).get(route.slice(4)).expect(200);
    await test.as(null).get('/docs').expect(200);
  });

  it('refuses keys that are unknown, malformed or of a wrong secret', async () => {
    const { app } = test.plane;
    const { default: request } = await import('supertest');
    for (const header of [
      'Bearer vt_client_wrong-secret-000000000',
      'Bearer vt_nobody_test-secret-0000000',
      'Bearer x',
    ]) {
      const response = await request(app.getHttpServer()).get('/v1/jobs').set('authorization', header).expect(401);
      expect(response.body.code).toBe('AUTH_UNKNOWN');
    }
    const basic = await request(app.getHttpServer()).get('/v1/jobs').set('authorization', 'Basic abc').expect(401);
    expect(basic.body.code).toBe('AUTH_MISSING');
  });
});

describe('dispatch', () => {
  const node = () => ({ nodeId, waitMs: 0 });

  it('is for operators only', async () => {
    for (const who of ['client', 'reviewer', 'admin'] as const) {
      expect(await codeOf(test.send(pattern.leaseAcquire, node(), who)), who).toBe('ROLE_FORBIDDEN');
    }
    const without = { auth: 'vt_nobody_test-secret-0000000' };
    expect(await codeOf(test.send(pattern.leaseAcquire, { ...node(), ...without }))).toBe('AUTH_UNKNOWN');
    expect(await codeOf(test.send(pattern.leaseAcquire, { ...node(), auth: undefined }))).toBe('AUTH_MISSING');
  });

  it('registers a node for the account of its key only', async () => {
    const node = { name: 'thief', capabilities, provider: providers.operator };
    expect(await codeOf(test.send(pattern.nodeRegister, node, 'otherOperator'))).toBe('NODE_PROVIDER');
    const own = { ...node, provider: providers.otherOperator };
    expect(NodeRegistered.safeParse(await test.send(pattern.nodeRegister, own, 'otherOperator')).success).toBe(true);
  });

  it('leaves a key that it has as it is, revoked or not', async () => {
    const id = 'otherReviewer';
    await test.plane.database.dataSource.manager.update(ApiKey, { id }, { revokedAt: new Date(0) });
    await test.restart();
    const { body } = await test.as(id).get('/v1/jobs').expect(401);
    expect(body.code).toBe('AUTH_UNKNOWN');
    await test.plane.database.dataSource.manager.update(ApiKey, { id }, { revokedAt: null });
  });

  it("keeps one operator's nodes and leases from another", async () => {
    expect(await codeOf(test.send(pattern.leaseAcquire, node(), 'otherOperator'))).toBe('NODE_UNKNOWN');
    expect(await codeOf(test.send(pattern.leaseRunning, leaseRef, 'otherOperator'))).toBe('LEASE_UNKNOWN');
    expect(await codeOf(test.send(pattern.nodeHeartbeat, { nodeId, leases: [] }, 'otherOperator'))).toBe(
      'NODE_UNKNOWN',
    );
    const other = await register(test, 'node', 'otherOperator');
    expect(other).not.toBe(nodeId);
    expect(await register(test, 'node')).toBe(nodeId);
    const blob = await storeBlob(test);
    await test.as('otherOperator').get(`/v1/blobs/${blob}`).expect(404);
  });
});
