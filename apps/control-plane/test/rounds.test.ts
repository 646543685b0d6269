/** Data-parallel jobs: who may work on which segment, what is taken for a partial, and what for a round. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ed25519Signer, toBase64 } from '#attestation/base';
import {
  encodeRoundStatement,
  jobIdOf,
  parseBundle,
  partialsDigest,
  signRoundReceipt,
  type RoundStatement,
  type StepStatement,
} from '#attestation/records';
import { manifestDigest } from '#libs/step';
import { pattern, SegmentTask, type LeaseGrant, type SegmentAcquired } from '#libs/wire';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  deliveryOf,
  keyRelease,
  manifest,
  providers,
  receiptKey,
  receiptSecret,
  refOf,
  renewalOf,
  segment,
  stateOf,
  storeBlob,
  submitFunded,
  upload,
  makeJob,
  weights,
  shown,
  type Fixture,
  type RenewalOptions,
} from './job-fixture.js';

/** Three rounds of two segments of one step each. */
const parallel = { spec: { parallel: 2, segmentSteps: 1 } };

type Who = 'operator' | 'otherOperator';
let test: TestPlane;
const node = async (name: string, more: object = { parallel: true }, who: Who = 'operator'): Promise<string> => {
  const message = { name, provider: providers[who], capabilities: { ...capabilities, ...more } };
  return (await test.send<{ nodeId: string }>(pattern.nodeRegister, message, who)).nodeId;
};
let leader: string;
let worker: string;
let old: string;
let rival: string;
beforeAll(async () => {
  test = await startTestPlane();
  leader = await node('leader');
  worker = await node('worker');
  old = await node('old', {});
  rival = await node('rival', { parallel: true }, 'otherOperator');
});
afterAll(() => test.stop());

const claim = (nodeId: string, jobId?: string, leads = false, who: Who = 'operator') =>
  test.send<SegmentAcquired>(
    pattern.segmentAcquire,
    { nodeId, waitMs: 0, leads, ...(jobId !== undefined && { jobId }) },
    who,
  );
const taskOf = async (nodeId: string, jobId: string) => SegmentTask.parse((await claim(nodeId, jobId)).task);
const refOfTask = (nodeId: string, { jobId, index, fence }: SegmentTask) => ({ nodeId, jobId, index, fence });
const join = async (nodeId: string, job: Fixture, who: Who = 'operator', notAfter?: number) => {
  const message = { nodeId, jobId: job.jobId, ...shown, release: keyRelease(job, undefined, notAfter) };
  return (await test.send<{ workerId: string }>(pattern.segmentJoin, message, who)).workerId;
};

/** The partial of a segment in the one true run; weights of a round's start are those of its first step. */
function partial(job: Fixture, index: number, changes: Partial<StepStatement> = {}) {
  const start = index - (index % 2);
  const weightsAfter = weights(100 + index);
  return segment(job, 0, { stepFrom: index, stepCount: 1, weightsBefore: weights(start), weightsAfter, ...changes });
}

async function round(job: Fixture, number: number, receipts: readonly string[], changes: Partial<RoundStatement> = {}) {
  const statement: RoundStatement = {
    ...{ jobId: jobIdOf(job.spec), programDigest: manifestDigest(manifest), datasetRoot: job.spec.dataset.root },
    ...{ stepFrom: 2 * number, stepCount: 2 },
    ...{ weightsBefore: weights(2 * number), weightsAfter: weights(2 * number + 2) },
    partials: partialsDigest(receipts.map((receipt) => new Uint8Array(Buffer.from(receipt, 'base64')))),
    ...changes,
  };
  const receipt = await signRoundReceipt(statement, receiptKey, ed25519Signer(receiptSecret));
  return { statement: toBase64(encodeRoundStatement(statement)), receipt: toBase64(receipt) };
}

async function begun(): Promise<{ job: Fixture; grant: LeaseGrant }> {
  const job = await submitFunded(test, parallel);
  let grant = await acquire(test, leader);
  while (grant.job.jobId !== job.jobId) grant = await acquire(test, leader);
  await advanceTo(test, grant, 'running');
  return { job, grant };
}

/** Time, in which the leaseholder beats: the sweeper may look at any moment. */
async function pass(seconds: number, grant: LeaseGrant): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    test.clock.pass(Math.min(left, 10));
    await test.send(pattern.nodeHeartbeat, { nodeId: leader, leases: [refOf(grant)] });
  }
}

describe('a data-parallel job', () => {
  let job: Fixture;
  let grant: LeaseGrant;
  let joined: string;
  const delivered: string[] = [];

  it('is refused at submission where its steps are no whole rounds, or its terms name no provider', async () => {
    for (const changes of [
      { spec: { parallel: 4, segmentSteps: 1 } },
      { ...parallel, terms: { provider: new Uint8Array(20) } },
    ]) {
      const bad = makeJob(test.clock.at(), changes);
      await upload(test, bad);
      const answer = await test.as('client').post('/v1/jobs', bad.body);
      expect(answer.body).toMatchObject({ code: 'JOB_PARALLEL' });
    }
  });

  it('is leased to a node that knows of rounds, and its segments go to nodes of its provider alone', async () => {
    job = await submitFunded(test, parallel);
    await expect(acquire(test, old)).rejects.toThrow('no job to lease');
    grant = await acquire(test, leader);
    expect(await claim(worker, job.jobId)).toEqual({ task: null, round: null, over: true });
    await advanceTo(test, grant, 'running');
    expect((await claim(rival, undefined, false, 'otherOperator')).task).toBeNull();
    expect(await codeOf(claim(rival, job.jobId, false, 'otherOperator'))).toBe('PARALLEL_PROVIDER');
    expect(await codeOf(join(rival, job, 'otherOperator'))).toBe('PARALLEL_PROVIDER');
    // A message that comes twice at once is one worker: no bundle may show a session twice.
    const both = await Promise.all([join(worker, job), join(worker, job)]);
    joined = both[0];
    expect([...both, await join(worker, job)]).toEqual([joined, joined, joined]);
  });

  it('takes no partial that is not that of its claim', async () => {
    const task = await taskOf(worker, job.jobId);
    expect(task).toMatchObject({ index: 0, fence: 1, checkpoint: null });
    const ref = refOfTask(worker, task);
    const blob = await storeBlob(test);
    const send = (change: object) =>
      codeOf(test.send(pattern.segmentDeliver, { ...ref, workerId: joined, blob, ...change }));
    const foreign = await submitFunded(test, parallel);
    for (const [changes, code] of [
      [{ stepFrom: 1 }, 'ROUND_PARTIALS'],
      [{ stepFrom: 2 }, 'ROUND_PARTIALS'],
      [{ stepCount: 2 }, 'ROUND_PARTIALS'],
      [{ weightsBefore: weights(2) }, 'ROUND_PARTIALS'],
      [{ jobId: jobIdOf(foreign.spec) }, 'ROUND_PARTIALS'],
      [{ programDigest: weights(9) }, 'ROUND_PARTIALS'],
      [{ datasetRoot: weights(9) }, 'ROUND_PARTIALS'],
    ] as const) {
      expect([changes, await send(await partial(job, 0, changes))]).toEqual([changes, code]);
    }
    const good = await partial(job, 0);
    const other = await segment(job, 0, { stepCount: 1, weightsAfter: weights(100) }, new Uint8Array(32).fill(9));
    expect(await send({ ...good, receipt: other.receipt })).toBe('COSE_KEY_ID');
    expect(await send({ ...good, receipt: (await partial(job, 1)).receipt })).toBe('RECEIPT_STATEMENT');
    expect(await send({ ...good, workerId: grant.leaseId })).toBe('WORKER_UNKNOWN');
    expect(await send({ ...good, blob: `0x${'77'.repeat(32)}` })).toBe('BLOB_UNKNOWN');
    expect(await send({ ...good, fence: 2 })).toBe('LEASE_FENCED');
    expect(await send({ ...good, index: 1 })).toBe('LEASE_FENCED');
    await test.send(pattern.segmentFail, { ...ref, code: 'ENCLAVE_LOST', detail: 'for the test' });
  });

  it('gives a segment to the next when its worker is gone, and what the first then brings is refused', async () => {
    const first = await taskOf(worker, job.jobId);
    expect(first).toMatchObject({ index: 0, fence: 2 });
    const second = await taskOf(leader, job.jobId);
    expect(second).toMatchObject({ index: 1, fence: 1 });
    expect((await claim(worker, job.jobId)).task).toBeNull();
    await pass(40, grant);
    const held = await test.send(pattern.segmentProgress, { ...refOfTask(leader, second), step: 1 });
    expect(held).toEqual({ held: true });
    await pass(40, grant);
    const third = await taskOf(leader, job.jobId);
    expect(third).toMatchObject({ index: 0, fence: 3 });
    expect(await test.send(pattern.segmentProgress, { ...refOfTask(worker, first), step: 1 })).toEqual({ held: false });
    const blob = await storeBlob(test);
    const good = await partial(job, 0);
    const late = { ...refOfTask(worker, first), workerId: joined, ...good, blob };
    expect(await codeOf(test.send(pattern.segmentDeliver, late))).toBe('LEASE_FENCED');
    const own = await join(leader, job);
    for (const [task, one] of [
      [third, good],
      [second, await partial(job, 1)],
    ] as const) {
      const message = { ...refOfTask(leader, task), workerId: own, ...one, blob };
      await test.send(pattern.segmentDeliver, message);
      await test.send(pattern.segmentDeliver, message);
      delivered.push(one.receipt);
    }
    expect((await claim(worker, job.jobId)).task).toBeNull();
    const complete = await claim(leader, job.jobId, true);
    expect(complete).toEqual({ task: null, round: { checkpoint: null, partials: [blob, blob] }, over: false });
  });

  it('takes no round over other partials, of other steps, or said like a segment', async () => {
    const blob = await storeBlob(test);
    const send = async (signed: object, step = 2) =>
      codeOf(test.send(pattern.leaseCheckpoint, { ...refOf(grant), step, ...signed, blob }));
    const stale = (await partial(job, 2)).receipt;
    expect(await send(await round(job, 0, delivered.toReversed()))).toBe('ROUND_PARTIALS');
    expect(await send(await round(job, 0, delivered.slice(1)))).toBe('ROUND_PARTIALS');
    expect(await send(await round(job, 0, [delivered[0]!, stale]))).toBe('ROUND_PARTIALS');
    expect(await send(await round(job, 0, delivered, { stepCount: 1 }), 1)).toBe('CHECKPOINT_GAP');
    expect(await send(await round(job, 1, delivered), 4)).toBe('CHECKPOINT_GAP');
    expect(await send(await round(job, 0, delivered, { jobId: weights(9) }))).toBe('STATEMENT_MISMATCH');
    expect(await send(await segment(job, 0))).toBe('STATEMENT_LENGTH');
    const good = await round(job, 0, delivered);
    expect(await send({ ...good, receipt: delivered[0]! })).toBe('COSE_CONTENT_TYPE');
    await test.send(pattern.leaseCheckpoint, { ...refOf(grant), step: 2, ...good, blob });
    const next = await taskOf(worker, job.jobId);
    expect(next).toMatchObject({ index: 2, fence: 1, checkpoint: blob });
    const replayed = { ...refOfTask(worker, next), workerId: joined, ...(await partial(job, 0)), blob };
    expect(await codeOf(test.send(pattern.segmentDeliver, replayed))).toBe('ROUND_PARTIALS');
    await test.send(pattern.segmentDeliver, { ...replayed, ...(await partial(job, 2)) });
  });

  it('keeps what a worker brings while it has no lease, and its next one goes on from there', async () => {
    const task = await taskOf(worker, job.jobId);
    expect(task.index).toBe(3);
    await test.send(pattern.leaseFail, { ...refOf(grant), code: 'ENCLAVE_LOST', detail: 'for the test', retry: true });
    expect((await stateOf(test, job)).state).toBe('submitted');
    const blob = await storeBlob(test);
    const brought = { ...refOfTask(worker, task), workerId: joined, ...(await partial(job, 3)), blob };
    await test.send(pattern.segmentDeliver, brought);
    grant = await acquire(test, leader);
    while (grant.job.jobId !== job.jobId) grant = await acquire(test, leader);
    await advanceTo(test, grant, 'running');
    expect((await claim(leader, job.jobId, true)).round?.partials).toHaveLength(2);
  });

  it('is delivered with its rounds, and its bundle has every partial', async () => {
    const receipts = [(await partial(job, 2)).receipt, (await partial(job, 3)).receipt];
    const blob = await storeBlob(test);
    const report = { ...refOf(grant), step: 4, ...(await round(job, 1, receipts)), blob };
    await test.send(pattern.leaseCheckpoint, report);
    const own = await join(leader, job);
    const last: string[] = [];
    for (const index of [4, 5]) {
      const task = await taskOf(leader, job.jobId);
      const one = await partial(job, index);
      last.push(one.receipt);
      await test.send(pattern.segmentDeliver, { ...refOfTask(leader, task), workerId: own, ...one, blob });
    }
    const renewal = await renewalOf(job, { nonce: 50, notAfter: 1_900_000_000 });
    const renewed = { nodeId: worker, jobId: job.jobId, workerId: joined, ...renewal };
    await test.send(pattern.segmentRenewed, renewed);
    const early = await deliveryOf(test, job, []);
    expect(await codeOf(test.send(pattern.leaseDeliver, { ...refOf(grant), ...early }))).toBe('DELIVERY_INCOMPLETE');
    const whole = { ...early, receipts: [await round(job, 2, last)] };
    await test.send(pattern.leaseDeliver, { ...refOf(grant), ...whole });
    expect((await claim(worker, job.jobId)).over).toBe(true);
    const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}/bundle`).expect(200);
    const bundle = parseBundle(new Uint8Array(body as Buffer));
    if (bundle.version !== 4) throw new Error('a bundle of the former layout');
    expect(bundle.segments.map(({ partials }) => partials.length)).toEqual([2, 2, 2]);
    const ends = bundle.sessions.map((session) => [toBase64(session.evidence), session.grant.notAfter]);
    expect(ends).toContainEqual([renewal.evidence, 1_900_000_000]);
  });
});

describe('a worker at work for longer than its attestation', () => {
  const windowSeconds = 60;
  let job: Fixture;
  let grant: LeaseGrant;
  let workerId: string;
  let until: number;
  beforeEach(async () => {
    ({ job, grant } = await begun());
    until = test.clock.at() + windowSeconds;
    workerId = await join(worker, job, 'operator', until);
  });

  const renew = async (renewal: RenewalOptions, as: object = {}) =>
    codeOf(
      test.send(pattern.segmentRenewed, {
        ...{ nodeId: worker, jobId: job.jobId, workerId },
        ...(await renewalOf(job, renewal)),
        ...as,
      }),
    );
  async function deliver(index: number): Promise<string> {
    const task = await taskOf(worker, job.jobId);
    expect(task.index).toBe(index);
    const signed = { workerId, ...(await partial(job, index)), blob: await storeBlob(test) };
    return codeOf(test.send(pattern.segmentDeliver, { ...refOfTask(worker, task), ...signed }));
  }
  it('may renew again and again, and tell it twice', async () => {
    for (const [round, index] of [1, 2].entries()) {
      await pass(windowSeconds - 10, grant);
      until = test.clock.at() + windowSeconds;
      const renewal = { nonce: 60 + index, notAfter: until };
      expect(await renew(renewal)).toBe('ok');
      expect(await renew(renewal)).toBe('ok');
      await pass(windowSeconds - 10, grant);
      expect(await deliver(round)).toBe('ok');
    }
    const [first, second] = [(await partial(job, 0)).receipt, (await partial(job, 1)).receipt];
    const blob = await storeBlob(test);
    const signed = await round(job, 0, [first, second]);
    await test.send(pattern.leaseCheckpoint, { ...refOf(grant), step: 2, ...signed, blob });
    const { items } = (await test.as('admin').get('/v1/audit?limit=20')).body as { items: Record<string, unknown>[] };
    expect(items).toContainEqual(expect.objectContaining({ action: 'worker.renew', subject: job.jobId, code: null }));
  });

  it('is taken nothing of while it does not', async () => {
    await pass(windowSeconds + 1, grant);
    expect(await deliver(0)).toBe('ATTESTATION_LAPSED');
    expect(await renew({ nonce: 70, notAfter: test.clock.at() + windowSeconds })).toBe('ok');
    await pass(40, grant);
    expect(await deliver(0)).toBe('ok');
  });

  it('is taken nothing of any more when the policy refuses what it shows', async () => {
    expect(await renew({ nonce: 80, notAfter: until + 10, claims: 'refused' })).toBe('ok');
    expect(await deliver(0)).toBe('ATTESTATION_LAPSED');
    expect(await renew({ nonce: 81, notAfter: until + 20 })).toBe('WORKER_REFUSED');
  });

  it.each<[string, string, Partial<RenewalOptions>, object]>([
    ['WORKER_UNKNOWN', 'under the id of nobody', {}, { workerId: randomUUID() }],
    ['RENEWAL_SESSION', 'with another session', { settlementKey: new Uint8Array(20).fill(1) }, {}],
    ['RENEWAL_NONCE', 'over the nonce of its release', { nonce: 1 }, {}],
    ['RENEWAL_STALE', 'to an end that is no later', { notAfter: 0 }, {}],
    ['RELEASE_SIGNATURE', 'by the word of a stranger', { secret: new Uint8Array(32).fill(7) }, {}],
  ])('is refused with %s %s', async (code, _, change, as) => {
    expect(await renew({ nonce: 90, notAfter: until + 10, ...change }, as)).toBe(code);
    await pass(windowSeconds + 1, grant);
    expect(await deliver(0)).toBe('ATTESTATION_LAPSED');
  });

  it('prolongs nothing for a worker of somebody else', async () => {
    expect(await renew({ nonce: 95, notAfter: until + 10 }, { nodeId: leader })).toBe('WORKER_UNKNOWN');
    const { jobId } = (await begun()).job;
    expect(await renew({ nonce: 95, notAfter: until + 10 }, { jobId })).toBe('WORKER_UNKNOWN');
  });
});

describe('a leaseholder that is attested anew', () => {
  it('is so as a worker too', async () => {
    const { job, grant } = await begun();
    const until = test.clock.at() + 60;
    const workerId = await join(leader, job, 'operator', until);
    const renewal = await renewalOf(job, { nonce: 60, notAfter: 1_900_000_000 });
    await test.send(pattern.leaseRenewed, { ...refOf(grant), ...renewal });
    await pass(70, grant);
    const task = await taskOf(leader, job.jobId);
    const signed = { workerId, ...(await partial(job, 0)), blob: await storeBlob(test) };
    expect(await codeOf(test.send(pattern.segmentDeliver, { ...refOfTask(leader, task), ...signed }))).toBe('ok');
  });
});

describe('a node that drains', () => {
  it('takes no segment', async () => {
    const { job } = await begun();
    await test.as('admin').post(`/v1/nodes/${worker}/drain`, {});
    expect((await claim(worker, job.jobId)).task).toBeNull();
  });
});
