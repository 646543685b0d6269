/** Lists that people look at, over REST and GraphQL: what policies said, what accounts were paid, segments, keys, webhooks. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { pattern } from '#libs/wire';
import { codeOf, startTestPlane, type KeyName, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  providers,
  refOf,
  register,
  shownInVain,
  submitFunded,
} from './job-fixture.js';

let test: TestPlane;
let nodeId: string;
beforeAll(async () => {
  test = await startTestPlane();
  nodeId = await register(test);
});
afterAll(async () => test.stop());

const graph = async (who: KeyName, query: string) =>
  (await test.as(who).post('/graphql', { query })).body as { data: unknown; errors?: unknown };

it('appraisals of a node say what would be refused and why, to its operator alone', async () => {
  const good = await submitFunded(test);
  await advanceTo(test, await acquire(test, nodeId), 'attested');
  await test.as('client').post(`/v1/jobs/${good.jobId}/cancel`, {}).expect(200);
  test.clock.pass(60);
  const bad = await submitFunded(test);
  const grant = await acquire(test, nodeId);
  await test.send(pattern.leaseAttested, { ...refOf(grant), ...shownInVain });
  const { body } = await test.as('operator').get(`/v1/nodes/${nodeId}/appraisals`).expect(200);
  expect(body).toMatchObject([
    {
      ...{ jobId: bad.jobId, tier: 'contraindicated', renewal: false, lease: 'refused', leaseCode: 'TEST_DEBUG' },
      checks: [{ code: 'TEST_DEBUG', status: 'refused', got: 'x', rule: 'no debugging' }],
    },
    { jobId: good.jobId, tier: 'affirming', lease: 'cancelled' },
  ]);
  await test.as('otherOperator').get(`/v1/nodes/${nodeId}/appraisals`).expect(404);
  await test.as('tenantAdmin').get(`/v1/nodes/${nodeId}/appraisals`).expect(404);
  const query = `{ nodeAppraisals(id: "${nodeId}") { tier jobId checks { code } } }`;
  expect((await graph('operator', query)).data).toMatchObject({
    nodeAppraisals: [{ tier: 'contraindicated', checks: [{ code: 'TEST_DEBUG' }] }, { tier: 'affirming' }],
  });
  expect(JSON.stringify((await graph('client', query)).errors)).toContain('ROLE_FORBIDDEN');
});

it('earnings are what the chain paid to the account of the key, and no other', async () => {
  const job = await submitFunded(test);
  // Whom a policy has refused gets no further job under it for a while.
  await acquire(test, await register(test, 'another'));
  const event = (name: string, data: Record<string, unknown>) => ({ escrowId: job.escrowId, name, data });
  test.chain.mine(event('JobAccepted', { provider: providers.operator }));
  test.chain.mine(event('JobEnded', { state: '6', toProvider: '700', toClient: '300' }));
  await confirm(test);
  const { body } = await test.as('operator').get('/v1/earnings').expect(200);
  const own = body.items.find(({ jobId }: { jobId: string }) => jobId === job.jobId);
  expect(own).toMatchObject({
    earnedWei: '700',
    payments: [{ kind: 'end', to: 'provider', amountWei: '700' }],
  });
  expect((await test.as('otherOperator').get('/v1/earnings').expect(200)).body.items).toEqual([]);
  const { data } = await graph('operator', '{ earningPage { items { jobId earnedWei payments { amountWei } } } }');
  expect(JSON.stringify(data)).toContain('"earnedWei":"700"');
});

it('a node shows its operator how much it has to do, how old its evidence is, and what it earned', async () => {
  const at = await register(test, 'looked-at');
  const of = async (who: KeyName) => (await test.as(who).get(`/v1/nodes/${at}`).expect(200)).body as object;
  expect(await of('operator')).toMatchObject({ leases: 0, evidenceAt: null });
  const job = await submitFunded(test);
  await advanceTo(test, await acquire(test, at), 'attested');
  const { items } = (await test.as('operator').get('/v1/nodes').expect(200)).body as { items: { id: string }[] };
  expect(items.find(({ id }) => id === at)).toMatchObject({ leases: 1, evidenceAt: expect.stringMatching(/^\d{4}-/) });
  // To others it is an offer and no more.
  expect(await of('client')).toMatchObject({ leases: null, evidenceAt: null });
  const { data } = await graph('operator', `{ node(id: "${at}") { leases evidenceAt } }`);
  expect(data).toMatchObject({ node: { leases: 1, evidenceAt: expect.any(String) } });

  const event = (name: string, more: Record<string, unknown>) => ({ escrowId: job.escrowId, name, data: more });
  test.chain.mine(event('JobAccepted', { provider: providers.operator }));
  test.chain.mine(event('JobEnded', { state: '6', toProvider: '900', toClient: '100' }));
  await confirm(test);
  const { body } = await test.as('operator').get(`/v1/nodes/${at}/earnings`).expect(200);
  expect(body.items).toMatchObject([{ jobId: job.jobId, earnedWei: '900' }]);
  const query = `{ nodeEarningPage(id: "${at}") { items { jobId earnedWei } } }`;
  expect((await graph('operator', query)).data).toMatchObject({ nodeEarningPage: { items: [{ earnedWei: '900' }] } });
  for (const who of ['otherOperator', 'tenantAdmin'] as const) {
    await test.as(who).get(`/v1/nodes/${at}/earnings`).expect(404);
    expect(JSON.stringify((await graph(who, query)).errors)).toContain('NODE_UNKNOWN');
  }
  expect(JSON.stringify((await graph('client', query)).errors)).toContain('ROLE_FORBIDDEN');
});

it('segments and appraisals of a job are listed to its tenant alone, page by page', async () => {
  const at = await register(test, 'trainer');
  const job = await submitFunded(test);
  const grant = await acquire(test, at);
  await advanceTo(test, grant, 'running');
  await checkpoint(test, grant, job, 0);
  const path = `/v1/jobs/${job.jobId}`;
  const first = (await test.as('client').get(`${path}/segments?limit=2`).expect(200)).body;
  expect(first.items).toMatchObject([
    { index: 0, steps: 2, trainedBy: at, signed: true, provedBy: null, heldBy: null },
    { index: 1, steps: 2, trainedBy: null, trainedAt: null, signed: false },
  ]);
  const rest = (await test.as('reviewer').get(`${path}/segments?cursor=${first.nextCursor}`).expect(200)).body;
  expect(rest).toMatchObject({ items: [{ index: 2 }], nextCursor: null });
  const beyond = Buffer.from('9'.repeat(18)).toString('base64url');
  const none = (await test.as('client').get(`${path}/segments?cursor=${beyond}`).expect(200)).body;
  expect(none).toEqual({ items: [], nextCursor: null });
  expect((await test.as('client').get(`${path}/appraisals`).expect(200)).body).toMatchObject([
    { jobId: job.jobId, tier: 'affirming', lease: 'active' },
  ]);
  const query = `{ jobSegmentPage(id: "${job.jobId}", limit: 1) { items { index trainedBy signed } nextCursor }
    jobAppraisals(id: "${job.jobId}") { tier } }`;
  expect((await graph('client', query)).data).toMatchObject({
    jobSegmentPage: { items: [{ index: 0, trainedBy: at, signed: true }] },
    jobAppraisals: [{ tier: 'affirming' }],
  });
  expect(JSON.stringify((await graph('otherClient', query)).errors)).toContain('JOB_UNKNOWN');
  expect(JSON.stringify((await graph('operator', query)).errors)).toContain('ROLE_FORBIDDEN');
});

it('keys, audit and dead letters are read over GraphQL as over REST, behind the same walls', async () => {
  const made = (await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201)).body;
  const pages = async (who: KeyName) =>
    JSON.stringify(await graph(who, '{ keyPage { items { id tenant role scopes revokedAt } } }'));
  expect(await pages('admin')).toContain(`"id":"${made.id}"`);
  expect(await pages('tenantAdmin')).toContain(`"id":"${made.id}"`);
  expect(await pages('otherAdmin')).not.toContain(made.id);
  expect(await pages('client')).toContain('ROLE_FORBIDDEN');
  const revoke = `mutation { revokeKey(id: "${made.id}") { revokedAt } }`;
  expect(JSON.stringify((await graph('otherAdmin', revoke)).errors)).toContain('KEY_UNKNOWN');
  expect((await graph('tenantAdmin', revoke)).data).toMatchObject({ revokeKey: { revokedAt: expect.any(String) } });

  const audit = '{ auditPage(action: "key.revoke") { items { action subject tenant } } }';
  expect(JSON.stringify((await graph('admin', audit)).data)).toContain(made.id);
  expect(JSON.stringify((await graph('otherAdmin', audit)).data)).not.toContain(made.id);

  await codeOf(test.send(pattern.leaseProgress, { nonsense: true }));
  const letters = '{ deadLetterPage(limit: 1) { items { id code reason replayable } } }';
  await expect.poll(async () => JSON.stringify((await graph('admin', letters)).data)).toContain('"code":');
  for (const who of ['tenantAdmin', 'otherAdmin', 'client'] as const) {
    expect(JSON.stringify((await graph(who, letters)).errors)).toContain('ROLE_FORBIDDEN');
  }
  expect(JSON.stringify((await graph('admin', 'mutation { replayDeadLetter(id: "999") { id } }')).errors)).toContain(
    'DEAD_LETTER_UNKNOWN',
  );
});

it('webhooks are listed, removed and tried again over GraphQL, by their tenant alone', async () => {
  const { id } = (await test.as('client').post('/v1/webhooks', { url: 'https://203.0.113.9/x' })).body as {
    id: string;
  };
  const list = '{ webhooks { id url states disabledAt } }';
  expect(JSON.stringify((await graph('client', list)).data)).toContain(id);
  expect(JSON.stringify((await graph('otherClient', list)).data)).not.toContain(id);
  expect(JSON.stringify((await graph('admin', list)).errors)).toContain('ROLE_FORBIDDEN');
  const { jobId } = await submitFunded(test);
  await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
  const deliveries = `{ webhookDeliveries(id: "${id}") { id body attempts } }`;
  const sent = (await graph('client', deliveries)).data as { webhookDeliveries: { id: string }[] };
  const [delivery] = sent.webhookDeliveries;
  const retry = `mutation { retryDelivery(id: "${id}", delivery: "${delivery!.id}") }`;
  expect((await graph('client', retry)).data).toEqual({ retryDelivery: delivery!.id });
  const remove = `mutation { removeWebhook(id: "${id}") }`;
  for (const query of [deliveries, retry, remove]) {
    expect(JSON.stringify((await graph('otherClient', query)).errors)).toContain('WEBHOOK_UNKNOWN');
  }
  expect((await graph('client', remove)).data).toEqual({ removeWebhook: id });
});

it('data sets are listed and deleted over GraphQL as over REST', async () => {
  const { items } = (await test.as('client').get('/v1/datasets?limit=1').expect(200)).body as {
    items: { id: string }[];
  };
  const { data } = await graph('client', '{ datasetPage(limit: 1) { items { id records bytes uploaded shards } } }');
  expect(data).toMatchObject({ datasetPage: { items: [{ id: items[0]!.id }] } });
  expect(JSON.stringify((await graph('reviewer', '{ datasetPage { items { id } } }')).errors)).toContain(
    'ROLE_FORBIDDEN',
  );
  const foreign = `mutation { removeDataset(id: "${to0x(new Uint8Array(32))}") }`;
  expect(JSON.stringify((await graph('client', foreign)).errors)).toContain('DATASET_UNKNOWN');
});
