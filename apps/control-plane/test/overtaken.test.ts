/** The chain knows of a run that the database does not: after a restore, or when a node committed without its lease. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Checkpoint, Job, JobEvent, KeyRelease, Lease, NodeRecord, Receipt, Verdict } from '#libs/persistence';
import { jobStates } from '#libs/settlement';
import { pattern } from '#libs/wire';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  deliveryOf,
  keyRelease,
  providers,
  refOf,
  register,
  stateOf,
  submitFunded,
  shown,
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
    event('JobCommitted', { borders: Array.from({ length: 4 }, () => delivery), delivery }),
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

describe('a database restored from before the lease', () => {
  /** Everything that the lease left behind is gone; the job waits as it did before. */
  async function forget({ jobId }: Fixture): Promise<void> {
    const { manager } = test.plane.database.dataSource;
    for (const Lost of [Checkpoint, Receipt, KeyRelease, Verdict, Lease]) await manager.delete(Lost, { jobId });
    const before = { state: 'submitted', fence: 0, attempt: 1, leaseId: null, attestedUntil: null, progress: null };
    await manager.update(Job, { id: jobId }, before as object);
  }

  const session = (job: Fixture, delivery: Delivery) => ({
    ...{ jobId: job.jobId, nodeId, delivery: delivery.run.delivery, ...shown },
    release: keyRelease(job),
  });

  it('is told again what let the session in, and takes the delivery that the chain has', async () => {
    const { job, grant, delivery } = await abandoned();
    await forget(job);
    const told = { ...refOf(grant), ...session(job, delivery) };
    const restore = (change: object = {}, by: 'operator' | 'otherOperator' = 'operator') =>
      codeOf(test.send(pattern.leaseRestore, { ...told, ...change }, by));
    expect(await restore()).toBe('LEASE_UNKNOWN');
    await commitOnChain(job, delivery);
    expect(await codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...delivery }))).toBe('LEASE_UNKNOWN');
    expect(await restore({ delivery: `0x${'5d'.repeat(32)}` })).toBe('LEASE_UNKNOWN');
    expect(await restore({ jobId: `0x${'5d'.repeat(32)}` })).toBe('JOB_UNKNOWN');
    expect(await restore({}, 'otherOperator')).toBe('NODE_UNKNOWN');
    const stranger = await submitFunded(test);
    expect(await restore({ release: keyRelease(stranger) })).toBe('RELEASE_SIGNATURE');
    await test.as('client').post(`/v1/jobs/${stranger.jobId}/cancel`, {}).expect(200);
    // The node comes back long after the broker's word was over.
    const release = keyRelease(job, undefined, test.clock.at() - 86_400);
    const { fence } = await test.send<{ fence: number }>(pattern.leaseRestore, { ...told, release });
    const { at } = await test.plane.database.dataSource.manager.findOneByOrFail(Verdict, { leaseId: grant.leaseId });
    expect(Number(at)).toBe(release.release.notAfter);
    expect(await test.send(pattern.leaseRestore, told)).toEqual({ fence });
    expect(await restore({}, 'otherOperator')).toBe('LEASE_UNKNOWN');
    await test.send(pattern.leaseDeliver, { ...refOf(grant), fence, ...delivery });
    expect(await stateOf(test, job)).toMatchObject({ state: 'delivered', code: null });
    await test.as('client').get(`/v1/jobs/${job.jobId}/result`).expect(200);
  });

  it('takes the job from whoever was given it meanwhile', async () => {
    const { job, grant, delivery } = await abandoned();
    await forget(job);
    const second = await acquire(test, nodeId);
    await advanceTo(test, second, 'running');
    await commitOnChain(job, delivery);
    const { fence } = await test.send<{ fence: number }>(pattern.leaseRestore, {
      ...refOf(grant),
      ...session(job, delivery),
    });
    expect(fence).toBe(second.fence + 1);
    expect(await codeOf(test.send(pattern.leaseRunning, refOf(second)))).toBe('LEASE_FENCED');
    await test.send(pattern.leaseDeliver, { ...refOf(grant), fence, ...delivery });
    expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
  });
});

it('a node that registers with a database restored from before it was known is the same node', async () => {
  const id = await register(test, 'new');
  await test.plane.database.dataSource.manager.delete(NodeRecord, { id });
  expect(await codeOf(test.send(pattern.nodeHeartbeat, { nodeId: id, leases: [] }))).toBe('NODE_UNKNOWN');
  const names = ['new', 'new', 'other'].map((name) => register(test, name));
  const [first, second, other] = await Promise.all(names);
  expect([first, second]).toEqual([id, id]);
  expect(new Set([id, nodeId, other, await register(test, 'new', 'otherOperator')]).size).toBe(4);
});
