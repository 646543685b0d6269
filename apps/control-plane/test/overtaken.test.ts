/** The chain knows of a run that the database does not: after a restore, or when a node committed without its lease. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pattern } from '#libs/messaging';
import { JobEvent, Lease } from '#libs/persistence';
import { jobStates } from '#libs/settlement';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  deliveryOf,
  providers,
  refOf,
  register,
  stateOf,
  submitFunded,
  type Fixture,
} from './job-fixture.js';

let test: TestPlane;
let nodeId: string;
beforeAll(async () => {
  test = await startTestPlane();
  nodeId = await register(test);
});
afterAll(async () => test.stop());

type Delivery = Awaited<ReturnType<typeof deliveryOf>>;

/** A job whose node has trained half of it and is not heard of any more. */
async function abandoned() {
  const job = await submitFunded(test);
  const grant = await acquire(test, nodeId);
  await advanceTo(test, grant, 'running');
  await checkpoint(test, grant, job, 0);
  return { job, grant, delivery: await deliveryOf(test, job, [0, 1, 2]) };
}

async function loseLease(): Promise<void> {
  test.clock.pass(31);
  await test.sweep();
}

async function commitOnChain({ escrowId }: Fixture, { run: { delivery } }: Delivery, ...more: string[]): Promise<void> {
  const event = (name: string, data: Record<string, unknown> = {}) => ({ escrowId, name, data });
  test.chain.mine(
    event('JobAccepted', { provider: providers.operator }),
    event('JobStarted'),
    event('JobCommitted', { outcome: '0', upTo: '3', tier: '0', delivery }),
    ...more.map((state) => event('JobEnded', { state })),
  );
  await confirm(test);
}

it('a job that waits while its escrow is committed is leased to nobody, and says what to do', async () => {
  const { job, delivery } = await abandoned();
  await loseLease();
  expect(await stateOf(test, job)).toMatchObject({ state: 'submitted' });
  await commitOnChain(job, delivery);
  expect(await stateOf(test, job)).toMatchObject({
    state: 'failed',
    code: 'ESCROW_COMMITTED',
    reason: { expected: expect.any(String), got: expect.any(String), action: expect.stringContaining('runbook') },
  });
  expect(await test.send(pattern.leaseAcquire, { nodeId, waitMs: 0 })).toBeNull();
  const refused = await test.as('client').post(`/v1/jobs/${job.jobId}/retry`, {}).expect(409);
  expect(refused.body.code).toBe('JOB_STATE');
});

it('the delivery that the chain has is taken from the node that made it, and no other', async () => {
  const { job, grant, delivery } = await abandoned();
  await loseLease();
  const send = (what: Delivery) => codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...what }));
  expect(await send(delivery)).toBe('LEASE_FENCED');
  await commitOnChain(job, delivery);
  expect(await send(await deliveryOf(test, job, [0, 1, 2]))).toBe('LEASE_FENCED');
  const foreign = { ...refOf(grant), fence: grant.fence + 1, ...delivery };
  expect(await codeOf(test.send(pattern.leaseDeliver, foreign))).toBe('LEASE_FENCED');
  expect(await codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery }, 'otherOperator'))).toBe(
    'LEASE_UNKNOWN',
  );
  expect(await send({ ...delivery, receipts: delivery.receipts.slice(0, 1) })).toBe('DELIVERY_INCOMPLETE');
  await test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery });
  await test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery });
  expect(await stateOf(test, job)).toMatchObject({ state: 'delivered', code: null });
  await test.as('client').get(`/v1/jobs/${job.jobId}/result`).expect(200);
});

it('whoever has the job meanwhile is refused, and loses it to the delivery that the chain has', async () => {
  const { job, grant, delivery } = await abandoned();
  await loseLease();
  const second = await acquire(test, nodeId);
  await advanceTo(test, second, 'running');
  await commitOnChain(job, delivery);
  expect(await stateOf(test, job)).toMatchObject({ state: 'running' });
  const other = await deliveryOf(test, job, [1, 2]);
  expect(await codeOf(test.send(pattern.leaseDeliver, { ...refOf(second), ...other }))).toBe('DELIVERY_CONFLICT');
  await test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery });
  expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
  expect(await codeOf(test.send(pattern.leaseRunning, refOf(second)))).toBe('LEASE_FENCED');
  const { manager } = test.plane.database.dataSource;
  const leases = await manager.find(Lease, { where: { jobId: job.jobId }, order: { fence: 'ASC' } });
  expect(leases.map(({ state }) => state)).toEqual(['done', 'cancelled']);
  const told = await manager.findOneByOrFail(JobEvent, { jobId: job.jobId, type: 'delivery' });
  expect(told.data).toMatchObject({ fence: 1, trigger: 'recover' });
});

it('a restored job whose escrow has paid is leased to nobody, and settled once its delivery is there', async () => {
  const { job, grant, delivery } = await abandoned();
  await loseLease();
  await commitOnChain(job, delivery, String(jobStates.indexOf('Settled')));
  expect(await stateOf(test, job)).toMatchObject({ state: 'failed', code: 'ESCROW_SETTLED' });
  await test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery });
  expect(await stateOf(test, job)).toMatchObject({ state: 'settled' });
});
