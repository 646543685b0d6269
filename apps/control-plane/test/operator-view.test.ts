/** What operators look at: what policies said of their evidence, and what their account was paid; over REST and GraphQL. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { pattern } from '#libs/wire';
import { startTestPlane, type KeyName, type TestPlane } from './harness.js';
import { acquire, advanceTo, confirm, providers, refOf, register, shownInVain, submitFunded } from './job-fixture.js';

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
