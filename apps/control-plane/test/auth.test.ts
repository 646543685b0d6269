/** Every route with every role, own and foreign tenant: what is not allowed here is forbidden. */
import { createRequire } from 'node:module';
import { createClient } from 'graphql-ws';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { ApiKey } from '#libs/persistence';
import { NodeRegistered, pattern } from '#libs/wire';
import type { TestPlane, KeyName } from './harness.js';
import { codeOf, keys, startTestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  providers,
  refOf,
  register,
  storeBlob,
  submitFunded,
  type Fixture,
} from './job-fixture.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: typeof globalThis.WebSocket };

let test: TestPlane;
let job: Fixture;
let spare: Fixture;
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
  spare = await submitFunded(test);
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
  'tenantAdmin',
  'otherAdmin',
];

interface Row {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: () => string;
  /** Status by caller; the others get 401 without and 403 with a key. */
  readonly expected: Partial<Record<KeyName, number>>;
}

const jobPath = () => `/v1/jobs/${job.jobId}`;
const shardPath = () => `/v1/datasets/${to0x(job.dataset.id)}/shards/0`;
const webhookPath = `/v1/webhooks/wh_${'0'.repeat(24)}`;
const readsJobs = { client: 200, reviewer: 200, admin: 200, otherClient: 404, otherReviewer: 404 };

function readers<T>(outcome: T): Partial<Record<KeyName, T>> {
  return { client: outcome, otherClient: outcome, reviewer: outcome, otherReviewer: outcome, admin: outcome };
}

function everybody<T>(outcome: T): Partial<Record<KeyName, T>> {
  return { ...readers(outcome), operator: outcome, otherOperator: outcome };
}

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
  'POST /v1/jobs/:id/pause': {
    method: 'post',
    path: () => `/v1/jobs/${spare.jobId}/pause`,
    expected: { otherClient: 404, client: 200, admin: 200 },
  },
  'POST /v1/jobs/:id/resume': {
    method: 'post',
    path: () => `/v1/jobs/${spare.jobId}/resume`,
    expected: { otherClient: 404, client: 200, admin: 200 },
  },
  'POST /v1/jobs/:id/retry': {
    method: 'post',
    path: () => `/v1/jobs/${spare.jobId}/retry`,
    expected: { otherClient: 404, client: 200, admin: 200 },
  },
  'POST /v1/jobs/:id/priority': {
    method: 'post',
    path: () => `/v1/jobs/${spare.jobId}/priority`,
    expected: { client: 400, otherClient: 400, admin: 400 },
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
  'GET /v1/jobs/:id/segments': { method: 'get', path: () => `${jobPath()}/segments`, expected: readsJobs },
  'GET /v1/jobs/:id/appraisals': { method: 'get', path: () => `${jobPath()}/appraisals`, expected: readsJobs },
  'GET /v1/jobs/:id/events': {
    method: 'get',
    path: () => `/v1/jobs/0x${'00'.repeat(32)}/events`,
    expected: { client: 404, otherClient: 404, reviewer: 404, otherReviewer: 404, admin: 404 },
  },
  'GET /v1/events': {
    method: 'get',
    path: () => '/v1/events?after=x',
    expected: readers(400),
  },
  'GET /v1/datasets': {
    method: 'get',
    path: () => '/v1/datasets',
    expected: { client: 200, otherClient: 200, admin: 200 },
  },
  'DELETE /v1/datasets/:id': {
    method: 'delete',
    path: () => `/v1/datasets/${to0x(job.dataset.id)}`,
    expected: { client: 409, otherClient: 404, admin: 409 },
  },
  'POST /v1/datasets': { method: 'post', path: () => '/v1/datasets', expected: { client: 400, otherClient: 400 } },
  'GET /v1/datasets/:id': {
    method: 'get',
    path: () => `/v1/datasets/${to0x(job.dataset.id)}`,
    expected: { client: 200, otherClient: 404, operator: 200, otherOperator: 404, admin: 200 },
  },
  'PUT /v1/datasets/:id/shards/:index': { method: 'put', path: shardPath, expected: { client: 422, otherClient: 404 } },
  'GET /v1/datasets/:id/shards/:index': {
    method: 'get',
    path: shardPath,
    expected: { client: 200, otherClient: 404, operator: 200, otherOperator: 404 },
  },
  'PATCH /v1/datasets/:id/shards/:index': {
    method: 'patch',
    path: shardPath,
    expected: { client: 200, otherClient: 404 },
  },
  'GET /v1/datasets/:id/shards/:index/upload': {
    method: 'get',
    path: () => `${shardPath()}/upload`,
    expected: { client: 200, otherClient: 404 },
  },
  'GET /v1/jobs/:id/escrow': { method: 'get', path: () => `${jobPath()}/escrow`, expected: readsJobs },
  'PUT /v1/blobs/:sha256': {
    method: 'put',
    path: () => `/v1/blobs/0x${'00'.repeat(32)}`,
    expected: { client: 422, otherClient: 422, operator: 422, otherOperator: 422 },
  },
  'GET /v1/blobs/:sha256': {
    method: 'get',
    path: () => `/v1/blobs/${checkpointBlob}`,
    expected: { operator: 200, otherOperator: 404 },
  },
  'GET /v1/blobs/:sha256/upload': {
    method: 'get',
    path: () => `/v1/blobs/${checkpointBlob}/upload`,
    expected: { operator: 200, otherOperator: 200 },
  },
  'PATCH /v1/blobs/:sha256': {
    method: 'patch',
    path: () => `/v1/blobs/${checkpointBlob}`,
    expected: { operator: 400, otherOperator: 400 },
  },
  'GET /v1/nodes': {
    method: 'get',
    path: () => '/v1/nodes',
    expected: everybody(200),
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
  'GET /v1/nodes/:id/appraisals': {
    method: 'get',
    path: () => `/v1/nodes/${nodeId}/appraisals`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'GET /v1/nodes/:id/earnings': {
    method: 'get',
    path: () => `/v1/nodes/${nodeId}/earnings`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'GET /v1/nodes/:id/preflight': {
    method: 'get',
    path: () => `/v1/nodes/${nodeId}/preflight`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'POST /v1/nodes/:id/preflight': {
    method: 'post',
    path: () => `/v1/nodes/${nodeId}/preflight`,
    expected: { operator: 400, otherOperator: 400 },
  },
  'GET /v1/tenants': { method: 'get', path: () => '/v1/tenants', expected: { admin: 200 } },
  'POST /v1/tenants/:tenant/limits': {
    method: 'post',
    path: () => '/v1/tenants/nobody/limits',
    expected: { admin: 404, tenantAdmin: 403, otherAdmin: 403 },
  },
  'GET /v1/earnings': { method: 'get', path: () => '/v1/earnings', expected: { operator: 200, otherOperator: 200 } },
  'POST /v1/nodes/:id/cordon': {
    method: 'post',
    path: () => `/v1/nodes/${nodeId}/cordon`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'POST /v1/nodes/:id/drain': {
    method: 'post',
    path: () => `/v1/nodes/${nodeId}/drain`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'POST /v1/nodes/:id/ready': {
    method: 'post',
    path: () => `/v1/nodes/${nodeId}/ready`,
    expected: { operator: 200, otherOperator: 404, admin: 200 },
  },
  'POST /v1/keys': { method: 'post', path: () => '/v1/keys', expected: { admin: 400 } },
  'GET /v1/me': {
    method: 'get',
    path: () => '/v1/me',
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
  'GET /v1/me/sessions': {
    method: 'get',
    path: () => '/v1/me/sessions',
    expected: everybody(200),
  },
  'DELETE /v1/me/sessions/:id': {
    method: 'delete',
    path: () => `/v1/me/sessions/${'0'.repeat(24)}`,
    expected: everybody(404),
  },
  'GET /v1/log': { method: 'get', path: () => '/v1/log', expected: readers(200) },
  'GET /v1/log/entries': { method: 'get', path: () => '/v1/log/entries?job=x', expected: readers(400) },
  'GET /v1/keys': { method: 'get', path: () => '/v1/keys', expected: { admin: 200 } },
  'POST /v1/keys/:id/revoke': { method: 'post', path: () => '/v1/keys/0000/revoke', expected: { admin: 404 } },
  'POST /v1/webhooks': { method: 'post', path: () => '/v1/webhooks', expected: { client: 400, otherClient: 400 } },
  'GET /v1/webhooks': { method: 'get', path: () => '/v1/webhooks', expected: { client: 200, otherClient: 200 } },
  'DELETE /v1/webhooks/:id': { method: 'delete', path: () => webhookPath, expected: { client: 404, otherClient: 404 } },
  'GET /v1/webhooks/:id/deliveries': {
    method: 'get',
    path: () => `${webhookPath}/deliveries`,
    expected: { client: 404, otherClient: 404 },
  },
  'POST /v1/webhooks/:id/deliveries/:delivery/retry': {
    method: 'post',
    path: () => `${webhookPath}/deliveries/1/retry`,
    expected: { client: 404, otherClient: 404 },
  },
  'GET /v1/dead-letters': {
    method: 'get',
    path: () => '/v1/dead-letters',
    expected: { admin: 200, tenantAdmin: 403, otherAdmin: 403 },
  },
  'POST /v1/dead-letters/:id/replay': {
    method: 'post',
    path: () => '/v1/dead-letters/9/replay',
    expected: { admin: 404, tenantAdmin: 403, otherAdmin: 403 },
  },
  'GET /v1/audit/verified': {
    method: 'get',
    path: () => '/v1/audit/verified',
    expected: { admin: 200, tenantAdmin: 403, otherAdmin: 403 },
  },
  'GET /v1/audit': { method: 'get', path: () => '/v1/audit', expected: { admin: 200 } },
};
const open = ['GET /health/live', 'GET /health/ready', 'GET /metrics'];

/** Administrators of a tenant do to it what one of every tenant does; to another's what its clients and operators do: nothing. */
function statusFor({ expected }: Row, who: KeyName): number {
  if (expected[who] !== undefined) return expected[who];
  if (expected.admin === undefined || !(who === 'tenantAdmin' || who === 'otherAdmin')) return 403;
  // What is the operator's own is of neither tenant.
  const isOfOperator = expected.otherOperator === 404 && expected.client === undefined;
  const foreign = isOfOperator ? 404 : (expected.otherClient ?? expected.admin);
  return who === 'otherAdmin' || isOfOperator ? foreign : expected.admin;
}

function raw(who: KeyName | null, method: 'patch' | 'delete', path: string) {
  const call = request(test.plane.app.getHttpServer())[method](path);
  if (who !== null) void call.set('authorization', `Bearer ${keys[who]}`);
  return method === 'delete'
    ? call
    : call.set({ 'content-type': 'application/octet-stream', 'upload-offset': '0' }).send(Buffer.alloc(3));
}

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
          patch: () => raw(who, 'patch', row.path()),
          delete: () => raw(who, 'delete', row.path()),
        }[row.method];
        const response = await call();
        const expected = who === null ? 401 : statusFor(row, who);
        expect(response.status, `${who ?? 'nobody'}: ${response.text}`).toBe(expected);
        if (expected >= 400) expect(response.type).toBe('application/problem+json');
      }
    });
  }

  it('lists to each tenant its own jobs only, and all to admins', async () => {
    const seen = async (who: KeyName) => ((await test.as(who).get('/v1/jobs')).body.items as unknown[]).length;
    expect(await seen('client')).toBe(2);
    expect(await seen('reviewer')).toBe(2);
    expect(await seen('admin')).toBe(2);
    expect(await seen('otherClient')).toBe(0);
  });

  it('answers without a key where it is meant to', async () => {
    for (const route of open) await test.as(null).get(route.slice(4)).expect(200);
    await test.as(null).get('/docs').expect(200);
  });

  it('refuses keys that are unknown, malformed or of a wrong secret', async () => {
    const { app } = test.plane;
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

const preflightCheck = '{ name: "kernel", state: "ok", found: "6.12", expected: "6.11", action: "" }';
const preflightReport = `{ kind: "host", simulated: false, at: "2026-01-01T00:00:00Z", checks: [${preflightCheck}] }`;

const ofEveryTenantAlone = { tenantAdmin: 'ROLE_FORBIDDEN', otherAdmin: 'ROLE_FORBIDDEN' };

/** Of every field of the schema's root types: what is asked, and what comes back by caller; the others are forbidden. */
const rootFields: Readonly<Record<string, { ask: () => string; expected: Partial<Record<KeyName, string>> }>> = {
  'Query.job': { ask: () => `query { job(id: "${spare.jobId}") { id } }`, expected: sees('ok') },
  'Query.jobPage': {
    ask: () => 'query { jobPage { nextCursor } }',
    expected: { ...sees('ok'), otherClient: 'ok', otherReviewer: 'ok' },
  },
  ...Object.fromEntries(
    ['pauseJob', 'resumeJob', 'retryJob', 'cancelJob'].map((name) => [
      `Mutation.${name}`,
      {
        ask: () => `mutation { ${name}(id: "${name === 'cancelJob' ? `0x${'00'.repeat(32)}` : spare.jobId}") { id } }`,
        expected:
          name === 'cancelJob'
            ? { client: 'JOB_UNKNOWN', otherClient: 'JOB_UNKNOWN', admin: 'JOB_UNKNOWN' }
            : { client: 'ok', otherClient: 'JOB_UNKNOWN', admin: 'ok' },
      },
    ]),
  ),
  'Mutation.reorderJob': {
    ask: () => `mutation { reorderJob(id: "${spare.jobId}", priority: 6) { id } }`,
    expected: { client: 'ok', otherClient: 'JOB_UNKNOWN', admin: 'ok' },
  },
  'Query.node': {
    ask: () => `query { node(id: "${nodeId}") { id } }`,
    expected: { ...everybody('ok'), otherOperator: 'NODE_UNKNOWN' },
  },
  'Query.nodePage': { ask: () => 'query { nodePage { items { id state } } }', expected: everybody('ok') },
  ...Object.fromEntries(
    ['cordonNode', 'drainNode', 'uncordonNode'].map((name) => [
      `Mutation.${name}`,
      {
        ask: () => `mutation { ${name}(id: "${nodeId}") { state } }`,
        expected: { operator: 'ok', otherOperator: 'NODE_UNKNOWN', admin: 'ok' },
      },
    ]),
  ),
  'Query.datasetPage': {
    ask: () => 'query { datasetPage { items { id } } }',
    expected: { client: 'ok', otherClient: 'ok', admin: 'ok' },
  },
  'Mutation.removeDataset': {
    ask: () => `mutation { removeDataset(id: "0x${'00'.repeat(32)}") }`,
    expected: { client: 'DATASET_UNKNOWN', otherClient: 'DATASET_UNKNOWN', admin: 'DATASET_UNKNOWN' },
  },
  'Query.tenantPage': { ask: () => 'query { tenantPage { items { tenant } } }', expected: { admin: 'ok' } },
  'Mutation.limitTenant': {
    ask: () => 'mutation { limitTenant(tenant: "acme", jobsWaitingMax: -1) { tenant } }',
    expected: { admin: 'REQUEST_MALFORMED' },
  },
  'Query.nodeAppraisals': {
    ask: () => `query { nodeAppraisals(id: "${nodeId}") { tier } }`,
    expected: { operator: 'ok', otherOperator: 'NODE_UNKNOWN', admin: 'ok' },
  },
  'Query.nodePreflights': {
    ask: () => `query { nodePreflights(id: "${nodeId}") { id } }`,
    expected: { operator: 'ok', otherOperator: 'NODE_UNKNOWN', admin: 'ok' },
  },
  'Mutation.postPreflight': {
    ask: () => `mutation { postPreflight(id: "${nodeId}", report: ${preflightReport}) { id } }`,
    expected: { operator: 'ok', otherOperator: 'NODE_UNKNOWN' },
  },
  'Query.nodeEarningPage': {
    ask: () => `query { nodeEarningPage(id: "${nodeId}") { nextCursor } }`,
    expected: { operator: 'ok', otherOperator: 'NODE_UNKNOWN', admin: 'ok' },
  },
  'Query.jobSegmentPage': {
    ask: () => `query { jobSegmentPage(id: "${spare.jobId}") { nextCursor } }`,
    expected: sees('ok'),
  },
  'Query.jobAppraisals': {
    ask: () => `query { jobAppraisals(id: "${spare.jobId}") { tier } }`,
    expected: sees('ok'),
  },
  'Query.keyPage': { ask: () => 'query { keyPage { nextCursor } }', expected: { admin: 'ok' } },
  'Mutation.revokeKey': {
    ask: () => 'mutation { revokeKey(id: "0000") { id } }',
    expected: { admin: 'KEY_UNKNOWN' },
  },
  'Query.auditPage': { ask: () => 'query { auditPage { nextCursor } }', expected: { admin: 'ok' } },
  'Query.deadLetterPage': {
    ask: () => 'query { deadLetterPage { nextCursor } }',
    expected: { admin: 'ok', ...ofEveryTenantAlone },
  },
  'Mutation.replayDeadLetter': {
    ask: () => 'mutation { replayDeadLetter(id: "9999") { id } }',
    expected: { admin: 'DEAD_LETTER_UNKNOWN', ...ofEveryTenantAlone },
  },
  'Query.webhooks': { ask: () => 'query { webhooks { id } }', expected: { client: 'ok', otherClient: 'ok' } },
  'Query.webhookDeliveries': {
    ask: () => `query { webhookDeliveries(id: "wh_${'0'.repeat(24)}") { id } }`,
    expected: { client: 'WEBHOOK_UNKNOWN', otherClient: 'WEBHOOK_UNKNOWN' },
  },
  'Mutation.removeWebhook': {
    ask: () => `mutation { removeWebhook(id: "wh_${'0'.repeat(24)}") }`,
    expected: { client: 'WEBHOOK_UNKNOWN', otherClient: 'WEBHOOK_UNKNOWN' },
  },
  'Mutation.retryDelivery': {
    ask: () => `mutation { retryDelivery(id: "wh_${'0'.repeat(24)}", delivery: "1") }`,
    expected: { client: 'WEBHOOK_UNKNOWN', otherClient: 'WEBHOOK_UNKNOWN' },
  },
  'Query.earningPage': {
    ask: () => 'query { earningPage { items { jobId } } }',
    expected: { operator: 'ok', otherOperator: 'ok' },
  },
  'Subscription.jobProgress': {
    ask: () => `subscription { jobProgress(jobId: "${spare.jobId}") { eventId } }`,
    expected: sees('ok'),
  },
  'Subscription.jobEvents': {
    ask: () => 'subscription { jobEvents(afterMark: "x") { eventId } }',
    expected: readers('REQUEST_MALFORMED'),
  },
  'Query.me': { ask: () => 'query { me { keyId role } }', expected: everybody('ok') },
  'Query.ownSessions': { ask: () => 'query { ownSessions { id } }', expected: everybody('ok') },
  'Mutation.endSession': {
    ask: () => `mutation { endSession(id: "${'0'.repeat(24)}") }`,
    expected: everybody('SESSION_UNKNOWN'),
  },
  'Query.logState': { ask: () => 'query { logState { url } }', expected: readers('ok') },
  'Query.logEntryPage': { ask: () => 'query { logEntryPage { items { id } } }', expected: readers('ok') },
};

function codeFor(expected: Partial<Record<KeyName, string>>, who: KeyName): string {
  if (expected[who] !== undefined) return expected[who];
  if (who !== 'tenantAdmin' && who !== 'otherAdmin') return 'ROLE_FORBIDDEN';
  if (expected.admin === undefined) return 'ROLE_FORBIDDEN';
  if (expected.client === undefined && expected.otherOperator !== undefined) return expected.otherOperator;
  return who === 'tenantAdmin' ? expected.admin : (expected.otherClient ?? expected.admin);
}

function sees(own: string): Partial<Record<KeyName, string>> {
  const other = 'JOB_UNKNOWN';
  return { client: own, reviewer: own, admin: own, otherClient: other, otherReviewer: other };
}

describe('GraphQL', () => {
  const outcome = async (who: KeyName | null, query: string): Promise<string> => {
    if (query.startsWith('subscription')) return subscribe(who, query);
    const call = request(test.plane.app.getHttpServer()).post('/graphql');
    if (who !== null) void call.set('authorization', `Bearer ${keys[who]}`);
    const { body } = await call.send({ query });
    return body.errors?.[0]?.extensions?.code ?? 'ok';
  };

  /** Code of the first answer over WebSocket, or `ok` for an event. */
  async function subscribe(who: KeyName | null, query: string): Promise<string> {
    const url = `ws://127.0.0.1:${test.plane.httpPort}/graphql`;
    const connectionParams = who === null ? {} : { authorization: `Bearer ${keys[who]}` };
    const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams });
    const events = client.iterate({ query });
    try {
      const { value } = await events.next();
      return (value?.errors?.[0]?.extensions?.['code'] as string | undefined) ?? 'ok';
    } catch (error) {
      const [first] = error as { extensions?: { code?: string } }[];
      return first?.extensions?.code ?? String(error);
    } finally {
      await events.return?.(undefined);
      await client.dispose();
    }
  }

  it('has a row for every field of its root types', async () => {
    const query =
      '{ __schema { queryType { fields { name } } mutationType { fields { name } } subscriptionType { fields { name } } } }';
    const { body } = await test.as('client').post('/graphql', { query }).expect(200);
    const names = Object.entries(body.data.__schema as Record<string, { fields: { name: string }[] }>).flatMap(
      ([type, { fields }]) => fields.map(({ name }) => `${type[0]!.toUpperCase()}${type.slice(1, -4)}.${name}`),
    );
    expect(names.sort()).toEqual(Object.keys(rootFields).sort());
  });

  for (const [field, row] of Object.entries(rootFields)) {
    it(`holds for ${field}`, async () => {
      for (const who of callers) {
        const expected = who === null ? 'AUTH_MISSING' : codeFor(row.expected, who);
        expect(await outcome(who, row.ask()), who ?? 'nobody').toBe(expected);
      }
    });
  }
});

describe('nodes over GraphQL', () => {
  const ask = async (who: KeyName, query: string) => (await test.as(who).post('/graphql', { query }).expect(200)).body;

  it('are held back and given jobs again, as over REST', async () => {
    for (const [name, state] of [
      ['cordonNode', 'cordoned'],
      ['drainNode', 'draining'],
      ['uncordonNode', 'ready'],
    ] as const) {
      const { data } = await ask('operator', `mutation { ${name}(id: "${nodeId}") { state } }`);
      expect(data[name]).toEqual({ state });
      expect((await test.as('operator').get(`/v1/nodes/${nodeId}`)).body.state).toBe(state);
    }
    const fields = 'id name provider capabilities { tee cores memoryMiB version } state online lastSeenAt createdAt';
    const { data } = await ask('operator', `query { node(id: "${nodeId}") { ${fields} } }`);
    expect((await test.as('operator').get(`/v1/nodes/${nodeId}`)).body).toMatchObject(data.node);
  });

  it('are asked for by id and page, and a malformed one is named', async () => {
    const code = async (query: string) => (await ask('operator', query)).errors[0].extensions.code;
    expect(await code('mutation { drainNode(id: "mine") { id } }')).toBe('REQUEST_MALFORMED');
    expect(await code('query { nodePage(cursor: "mine") { nextCursor } }')).toBe('CURSOR_MALFORMED');
    const { data } = await ask('operator', 'query { nodePage(limit: 1) { items { id } nextCursor } }');
    expect(data.nodePage.items).toHaveLength(1);
  });
});

describe('API keys', () => {
  it('are made by administrators, shown once, stored as a hash, and revoked at once', async () => {
    const wanted = { tenant: 'acme', role: 'client', name: 'made in a test' };
    const made = await test.as('admin').post('/v1/keys', wanted, 'key-once').expect(201);
    const { id, key } = made.body as { id: string; key: string };
    const again = await test.as('admin').post('/v1/keys', wanted, 'key-once').expect(201);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.body).toEqual({ ...made.body, key: undefined });
    const { manager } = test.plane.database.dataSource;
    const everything = await Promise.all(
      ['api_key', 'idempotency', 'audit_log', 'outbox'].map((table) => manager.query(`SELECT * FROM ${table}`)),
    );
    expect(JSON.stringify(everything)).not.toContain(key.replace(/^vt_[^_]+_/, ''));
    expect(test.logs.join()).not.toContain(key.replace(/^vt_[^_]+_/, ''));
    const use = () => request(test.plane.app.getHttpServer()).get('/v1/jobs').set('authorization', `Bearer ${key}`);
    await use().expect(200);
    const { body: page } = await test.as('admin').get('/v1/keys?limit=200').expect(200);
    expect((page.items as object[]).find((item) => (item as { id: string }).id === id)).toMatchObject({
      ...wanted,
      revokedAt: null,
    });
    await test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200);
    await test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200);
    expect((await use().expect(401)).body.code).toBe('AUTH_UNKNOWN');
    const actions = await manager.query(`SELECT action, actor FROM audit_log WHERE subject = $1 ORDER BY id`, [id]);
    expect(actions).toEqual(['key.create', 'key.revoke'].map((action) => ({ action, actor: 'admin' })));
  });

  it('name the account of operators, and only of them', async () => {
    for (const wrong of [
      { tenant: 'host', role: 'operator' },
      { tenant: 'acme', role: 'client', provider: providers.operator },
      { tenant: 'acme', role: 'root' },
    ]) {
      await test.as('admin').post('/v1/keys', wrong).expect(400);
    }
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
