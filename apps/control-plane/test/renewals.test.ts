/** A session at work is attested again and again; without a renewal in time its job goes to another. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toBase64 } from '#attestation/base';
import { pattern, type LeaseGrant } from '#libs/wire';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  deliveryOf,
  keyRelease,
  refOf,
  register,
  renewalOf,
  segment,
  stateOf,
  storeBlob,
  submitFunded,
  shown,
  type Fixture,
  type RenewalOptions,
} from './job-fixture.js';

let test: TestPlane;
let nodeId: string;
let job: Fixture;
let grant: LeaseGrant;
beforeAll(async () => {
  test = await startTestPlane({ attemptsMax: 9 });
  nodeId = await register(test);
});
afterAll(async () => {
  await test?.stop();
});

const windowSeconds = 100;

/** Running, attested for a hundred seconds. */
async function atWork(): Promise<{ job: Fixture; grant: LeaseGrant; until: number }> {
  const funded = await submitFunded(test);
  const granted = await acquire(test, nodeId);
  const until = test.clock.at() + windowSeconds;
  await test.send(pattern.leaseAttested, { ...refOf(granted), ...shown });
  const release = keyRelease(funded, undefined, until);
  await test.send(pattern.leaseKeyed, { ...refOf(granted), release });
  await test.send(pattern.leaseRunning, refOf(granted));
  return { job: funded, grant: granted, until };
}

let until: number;
beforeEach(async () => {
  ({ job, grant, until } = await atWork());
  return async () => void (await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}));
});

const beat = () => test.send(pattern.nodeHeartbeat, { nodeId, leases: [refOf(grant)] });
const renew = async (renewal: RenewalOptions) =>
  codeOf(test.send(pattern.leaseRenewed, { ...refOf(grant), ...(await renewalOf(job, renewal)) }));
const viewOf = async () => (await test.as('client').get(`/v1/jobs/${job.jobId}`)).body as Record<string, unknown>;
const iso = (seconds: number): string => new Date(1000 * seconds).toISOString();

async function pass(seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    test.clock.pass(Math.min(left, 10));
    await beat();
    await test.sweep();
  }
}

describe('a session that renews', () => {
  it('keeps its job over many windows, and everybody sees until when', async () => {
    expect(await viewOf()).toMatchObject({ state: 'running', attestedUntil: iso(until) });
    for (let round = 1; round <= 4; round++) {
      await pass(60);
      expect(await renew({ nonce: 10 + round, notAfter: test.clock.at() + windowSeconds })).toBe('ok');
      expect(await viewOf()).toMatchObject({ state: 'running', attestedUntil: iso(test.clock.at() + windowSeconds) });
    }
    await checkpoint(test, grant, job, 0);
    const query = { query: `{ job(id: "${job.jobId}") { attestedUntil } }` };
    const answer = await test.as('client').post('/graphql', query);
    expect(answer.body).toEqual({ data: { job: { attestedUntil: iso(test.clock.at() + windowSeconds) } } });
    const { items } = (await test.as('admin').get('/v1/audit?limit=20')).body as { items: Record<string, unknown>[] };
    expect(items).toContainEqual(expect.objectContaining({ action: 'job.renew', subject: job.jobId, code: null }));
    const metrics = (await test.as(null).get('/metrics')).text;
    expect(metrics).toMatch(/veritrain_attestation_freshness_seconds 100\n/);
    expect(metrics).toMatch(/veritrain_attestation_renewals_total\{outcome="affirming"\} [4-9]/);
  });

  it('may tell it twice', async () => {
    const renewal = { nonce: 30, notAfter: until + 10 };
    expect(await renew(renewal)).toBe('ok');
    expect(await renew(renewal)).toBe('ok');
    expect(await viewOf()).toMatchObject({ attestedUntil: iso(until + 10) });
  });
});

describe('a renewal', () => {
  it.each<[string, string, Partial<RenewalOptions>]>([
    ['RENEWAL_SESSION', 'of another session', { settlementKey: new Uint8Array(20).fill(1) }],
    ['RENEWAL_NONCE', 'over the nonce of the release', { nonce: 1 }],
    ['RENEWAL_STALE', 'that ends no later', { notAfter: 0 }],
    ['RELEASE_SIGNATURE', 'that a stranger signed', { secret: new Uint8Array(32).fill(7) }],
  ])('is refused with %s %s', async (code, _, change) => {
    const good = { nonce: 40, notAfter: test.clock.at() + windowSeconds + 1 };
    expect(await renew({ ...good, ...change })).toBe(code);
    expect(await viewOf()).toMatchObject({ attestedUntil: iso(until) });
  });

  it('is refused over a nonce that was used, with another end than was signed, and under an older fence', async () => {
    const notAfter = until + 10;
    expect(await renew({ nonce: 41, notAfter })).toBe('ok');
    expect(await renew({ nonce: 41, notAfter: notAfter + 10, claims: 'other' })).toBe('RENEWAL_NONCE');
    const good = await renewalOf(job, { nonce: 42, notAfter: notAfter + 10 });
    const later = { ...good, lease: { ...good.lease, notAfter: notAfter + 20 } };
    const send = (message: object) => codeOf(test.send(pattern.leaseRenewed, { ...refOf(grant), ...message }));
    expect(await send(later)).toBe('RELEASE_SIGNATURE');
    expect(await send({ ...good, fence: grant.fence + 1 })).toBe('LEASE_FENCED');
    expect(await send({ ...good, evidence: toBase64(new Uint8Array(9)) })).toMatch(/^CBOR_/);
  });

  it('that the policy of the job refuses ends the lease; its node is not asked again, another goes on', async () => {
    await checkpoint(test, grant, job, 0);
    expect(await renew({ nonce: 50, notAfter: until + 10, claims: 'refused' })).toBe('ok');
    expect(await viewOf()).toMatchObject({ state: 'submitted', code: 'ATTESTATION_REFUSED', attestedUntil: null });
    expect(await test.send(pattern.leaseAcquire, { nodeId, waitMs: 0 })).toBeNull();
    const second = await register(test, `second ${job.jobId.slice(0, 9)}`);
    const next = await acquire(test, second);
    expect(next.job).toMatchObject({ jobId: job.jobId, resume: { step: 2 } });
    await advanceTo(test, next, 'running');
    expect(await codeOf(checkpoint(test, grant, job, 1))).toBe('LEASE_FENCED');
    const delivery = await deliveryOf(test, job, [1, 2]);
    await test.send(pattern.leaseDeliver, { ...refOf(next), ...delivery });
    expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
    nodeId = await register(test, `fresh ${job.jobId.slice(0, 9)}`);
  });

  it('that the broker refused is told with a code that has the same end', async () => {
    const failure = { code: 'ATTESTATION_REFUSED', detail: 'chip denied', retry: true };
    await test.send(pattern.leaseFail, { ...refOf(grant), ...failure });
    expect(await viewOf()).toMatchObject({ state: 'submitted', code: 'ATTESTATION_REFUSED' });
    expect(await test.send(pattern.leaseAcquire, { nodeId, waitMs: 0 })).toBeNull();
    nodeId = await register(test, `after ${job.jobId.slice(0, 9)}`);
  });
});

describe('silence', () => {
  it('lapses: nothing more is taken, the job waits for a session with its checkpoints, also the same node', async () => {
    await checkpoint(test, grant, job, 0);
    await pass(windowSeconds);
    expect((await viewOf())['state']).toBe('running');
    await pass(1);
    expect(await viewOf()).toMatchObject({ state: 'submitted', code: 'ATTESTATION_LAPSED', attestedUntil: null });
    const blob = await storeBlob(test);
    const late = { ...refOf(grant), step: 4, ...(await segment(job, 1)), blob };
    expect(await codeOf(test.send(pattern.leaseCheckpoint, late))).toBe('LEASE_FENCED');
    expect(await renew({ nonce: 60, notAfter: test.clock.at() + windowSeconds })).toBe('LEASE_FENCED');
    const next = await acquire(test, nodeId);
    expect(next.job).toMatchObject({ jobId: job.jobId, resume: { step: 2 } });
    expect((await test.as(null).get('/metrics')).text).toMatch(/veritrain_attestations_lapsed_total [1-9]/);
  });

  it('is not held against nodes while this control plane was away: what the broker renewed may be told late', async () => {
    test.clock.pass(windowSeconds + 1);
    await test.restart();
    await test.sweep();
    expect((await viewOf())['state']).toBe('running');
    expect(await codeOf(checkpoint(test, grant, job, 0))).toBe('ATTESTATION_LAPSED');
    expect(await renew({ nonce: 61, notAfter: test.clock.at() + windowSeconds })).toBe('ok');
    await test.sweep();
    expect((await viewOf())['state']).toBe('running');
    await checkpoint(test, grant, job, 0);
  });
});
