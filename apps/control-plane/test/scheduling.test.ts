/** Which node gets which job, and what clients, operators and administrators may change about it. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { AuditEntry } from '#libs/persistence';
import { pattern } from '#libs/wire';
import { codeOf, startTestPlane, type KeyName, type TestPlane } from './harness.js';
import { netFixture } from './net-fixture.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  deliveryOf,
  fund,
  groth16Changes,
  makeJob,
  providers,
  refOf,
  register,
  sha256,
  stateOf,
  submitFunded,
  upload,
  shownInVain,
  type Fixture,
} from './job-fixture.js';

let test: TestPlane;
let nodeId: string;
beforeAll(async () => {
  test = await startTestPlane({ jobsWaitingMax: 4, jobsUnderWayMax: 2 });
});
afterAll(async () => test.stop());
beforeEach(async () => {
  test.clock.pass(5);
  await test.plane.database.dataSource.query(`UPDATE job SET state = 'cancelled' WHERE state <> 'settled'`);
  await test.plane.database.dataSource.query(`UPDATE lease SET state = 'cancelled'`);
  nodeId = await register(test);
});

async function submitWith(body: object): Promise<Fixture> {
  const job = makeJob(test.clock.at());
  await upload(test, job);
  await test
    .as('client')
    .post('/v1/jobs', { ...job.body, ...body })
    .expect(201);
  await fund(test, job);
  return job;
}

const ask = async (id: string, who: 'operator' | 'otherOperator' = 'operator', waitMs = 0) =>
  (await test.send<{ job: { jobId: string } } | null>(pattern.leaseAcquire, { nodeId: id, waitMs }, who))?.job.jobId;
const command = (job: Fixture, what: string, who: KeyName = 'client', body: object = {}) =>
  test.as(who).post(`/v1/jobs/${job.jobId}/${what}`, body);
const offer = async (name: string, changes: object): Promise<string> => {
  const node = { name, provider: providers.operator, capabilities: { ...capabilities, ...changes } };
  return (await test.send<{ nodeId: string }>(pattern.nodeRegister, node)).nodeId;
};

describe('a job goes only to a node that', () => {
  const cases: [string, object, object][] = [
    ['has its kind of TEE', { requirements: { tee: ['snp'] } }, { tee: 'snp' }],
    ['has the firmware that it wants', { requirements: { tcb: 'current' } }, { tcb: 'current' }],
    ['has enough cores', { requirements: { cores: 8 } }, { cores: 8 }],
    ['has enough memory', { requirements: { memoryMiB: 4096 } }, { memoryMiB: 4096 }],
    ['was measured to be fast enough', { requirements: { samplesPerSecond: 100 } }, { samplesPerSecond: 100 }],
  ];
  for (const [name, body, changes] of cases) {
    it(name, async () => {
      const fitting = await offer('fitting', changes);
      const job = await submitWith(body);
      expect(await ask(nodeId)).toBeUndefined();
      expect(await ask(fitting)).toBe(job.jobId);
    });
  }

  it('has the Groth16 key of its plan, whatever its client says of it', async () => {
    const [plan, other] = [sha256('plan'), sha256('other plan')];
    const without = await offer('without', { tee: 'none' });
    const another = await offer('another', { tee: 'none', groth16Keys: [to0x(other)] });
    const fitting = await offer('with', { tee: 'none', groth16Keys: [to0x(other), to0x(plan)] });
    const job = makeJob(test.clock.at(), groth16Changes(plan));
    await upload(test, job);
    const body = { ...job.body, requirements: { groth16Key: to0x(other) } };
    const stored = await test.as('client').post('/v1/jobs', body).expect(201);
    expect(stored.body.requirements).toEqual({ groth16Key: to0x(plan) });
    await fund(test, job);
    for (const id of [nodeId, without, another]) expect(await ask(id)).toBeUndefined();
    expect(await ask(fitting)).toBe(job.jobId);
  });

  it('knows the semantics and every op of its net, whatever its client says of them', async () => {
    const job = await netFixture(test);
    const body = { ...job.body, requirements: { fxt: 1, ops: [] } };
    const stored = await test.as('client').post('/v1/jobs', body).expect(201);
    expect(stored.body.requirements).toEqual({ fxt: 2, ops: ['dense', 'relu'] });
    await fund(test, job);
    const former = await offer('former', { fxt: [1], ops: ['dense', 'relu'] });
    const without = await offer('without', { fxt: [1, 2], ops: ['dense'] });
    const fitting = await offer('fitting', { fxt: [1, 2], ops: ['conv2d', 'dense', 'relu'] });
    for (const id of [nodeId, former, without]) expect(await ask(id)).toBeUndefined();
    expect(await ask(fitting)).toBe(job.jobId);
  });

  it('asks no more than it pays', async () => {
    const dear = await offer('dear', { priceMin: '1001' });
    const cheap = await offer('cheap', { priceMin: '1000' });
    const job = await submitWith({});
    expect(await ask(dear)).toBeUndefined();
    expect(await ask(cheap)).toBe(job.jobId);
  });

  it('its policy did not refuse a moment ago', async () => {
    const other = await register(test, 'other');
    const first = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await test.send(pattern.leaseAttested, { ...refOf(grant), ...shownInVain });
    await command(first, 'cancel').expect(200);
    const second = await submitFunded(test);
    expect(await ask(nodeId)).toBeUndefined();
    test.clock.pass(601);
    expect(await ask(nodeId)).toBe(second.jobId);
    expect(await ask(other)).toBeUndefined();
  });

  it('is in service, until it is cordoned', async () => {
    const job = await submitFunded(test);
    expect((await test.as('operator').post(`/v1/nodes/${nodeId}/cordon`, {}).expect(200)).body.state).toBe('cordoned');
    expect(await register(test)).toBe(nodeId);
    expect(await ask(nodeId)).toBeUndefined();
    await test.as('admin').post(`/v1/nodes/${nodeId}/ready`, {}).expect(200);
    expect(await ask(nodeId)).toBe(job.jobId);
  });

  it('gets no job for a question that stood when it was cordoned', async () => {
    const standing = ask(nodeId, 'operator', 2000);
    await setTimeout(300);
    await test.as('operator').post(`/v1/nodes/${nodeId}/cordon`, {}).expect(200);
    const job = await submitFunded(test);
    expect(await standing).toBeUndefined();
    await test.as('operator').post(`/v1/nodes/${nodeId}/ready`, {}).expect(200);
    expect(await ask(nodeId)).toBe(job.jobId);
  });
});

describe('the order of the queue', () => {
  it('is priority first; what is ahead of other clients is for administrators', async () => {
    const slow = await submitWith({ priority: 9 });
    const usual = await submitWith({});
    const late = await submitWith({});
    expect((await command(slow, 'priority', 'client', { priority: 4 }).expect(403)).body.code).toBe('JOB_PRIORITY');
    const body = { ...makeJob(test.clock.at()).body, priority: 0 };
    expect((await test.as('client').post('/v1/jobs', body).expect(403)).body.code).toBe('JOB_PRIORITY');
    await command(late, 'priority', 'admin', { priority: 0 }).expect(200);
    expect([await ask(nodeId), await ask(nodeId)]).toEqual([late.jobId, usual.jobId]);
  });

  it('is bounded for each tenant, in waiting and under way', async () => {
    for (let n = 0; n < 4; n += 1) await submitFunded(test);
    const more = makeJob(test.clock.at());
    await upload(test, more);
    const { body, type } = await test.as('client').post('/v1/jobs', more.body).expect(429);
    expect([body.code, type]).toEqual(['QUOTA_JOBS', 'application/problem+json']);
    expect(await ask(nodeId)).toBeDefined();
    test.clock.pass(2);
    expect(await ask(nodeId)).toBeDefined();
    test.clock.pass(2);
    expect(await ask(nodeId)).toBeUndefined();
  });
});

describe('a job under way', () => {
  it('is paused with its checkpoints and goes on from them elsewhere', async () => {
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    await checkpoint(test, grant, job, 0);
    await command(job, 'pause').expect(200);
    await command(job, 'pause').expect(200);
    expect(await stateOf(test, job)).toMatchObject({ state: 'paused', code: 'PAUSED_BY_CLIENT', attempt: 1 });
    const beat = { nodeId, leases: [refOf(grant)] };
    expect(await test.send(pattern.nodeHeartbeat, beat)).toEqual({ cancel: [grant.leaseId], lost: [] });
    expect(await codeOf(test.send(pattern.leaseRunning, refOf(grant)))).toBe('LEASE_FENCED');
    expect(await ask(nodeId)).toBeUndefined();
    await command(job, 'resume').expect(200);
    const next = await acquire(test, nodeId);
    expect(next.fence).toBe(grant.fence + 1);
    expect(next.job.resume?.step).toBe(2);
    await advanceTo(test, next, 'running');
    await test.send(pattern.leaseDeliver, { ...refOf(next), ...(await deliveryOf(test, job, [1, 2])) });
    expect((await command(job, 'pause').expect(409)).body.code).toBe('JOB_STATE');
  });

  it('is left to the chain once the provider has started, but for an administrator', async () => {
    const job = await submitFunded(test);
    await test.plane.database.dataSource.query(`UPDATE job SET escrow_state = 'started' WHERE id = $1`, [job.jobId]);
    for (const what of ['pause', 'cancel']) expect((await command(job, what).expect(409)).body.code).toBe('JOB_STATE');
    await command(job, 'pause', 'admin').expect(200);
    expect(await stateOf(test, job)).toMatchObject({ state: 'paused', code: 'PAUSED_BY_ADMIN' });
  });

  it('expires while it is paused', async () => {
    const job = await submitFunded(test);
    await command(job, 'pause').expect(200);
    test.clock.pass(4 * 3600);
    await test.sweep();
    expect(await stateOf(test, job)).toMatchObject({ state: 'expired' });
    expect((await command(job, 'resume').expect(409)).body.code).toBe('JOB_STATE');
  });

  it('is handed back by a node that drains, at its next checkpoint and at no cost of attempts', async () => {
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    await test.as('operator').post(`/v1/nodes/${nodeId}/drain`, {}).expect(200);
    expect(await stateOf(test, job)).toMatchObject({ state: 'running' });
    await checkpoint(test, grant, job, 0);
    expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'NODE_DRAINING', attempt: 1 });
    const other = await register(test, 'other');
    expect((await acquire(test, other)).job.resume?.step).toBe(2);
    await test.as('operator').post(`/v1/nodes/${nodeId}/ready`, {}).expect(200);
  });
});

it('a job that failed is tried again while its escrow lives, with all its attempts', async () => {
  const job = await submitFunded(test);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const grant = await acquire(test, nodeId);
    await test.send(pattern.leaseFail, { ...refOf(grant), code: 'ENCLAVE_LOST', detail: 'gone', retry: true });
  }
  expect(await stateOf(test, job)).toMatchObject({ state: 'failed', attempt: 3 });
  await command(job, 'retry').expect(200);
  expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', attempt: 1 });
  expect((await acquire(test, nodeId)).fence).toBe(4);
  const actions = await test.plane.database.dataSource.manager.findBy(AuditEntry, { subject: job.jobId });
  expect(actions.map(({ action }) => action)).toContain('job.retry');
});

it('the same is asked over GraphQL', async () => {
  const job = await submitFunded(test);
  const run = async (mutation: string, who: KeyName = 'client') => {
    const query = `mutation { ${mutation} { state priority } }`;
    const { body } = await test.as(who).post('/graphql', { query });
    return body.errors?.[0]?.extensions?.code ?? Object.values(body.data as object)[0];
  };
  const id = `id: "${job.jobId}"`;
  expect(await run(`pauseJob(${id})`)).toEqual({ state: 'paused', priority: 5 });
  expect(await run(`resumeJob(${id})`)).toEqual({ state: 'submitted', priority: 5 });
  expect(await run(`reorderJob(${id}, priority: 7)`)).toEqual({ state: 'submitted', priority: 7 });
  expect(await run(`reorderJob(${id}, priority: 0)`)).toBe('JOB_PRIORITY');
  expect(await run(`retryJob(${id})`)).toEqual({ state: 'submitted', priority: 7 });
  expect(await run(`cancelJob(${id})`, 'otherClient')).toBe('JOB_UNKNOWN');
  expect(await run(`cancelJob(${id})`, 'reviewer')).toBe('ROLE_FORBIDDEN');
  expect(await run(`cancelJob(${id})`)).toEqual({ state: 'cancelled', priority: 7 });
});
