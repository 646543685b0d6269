/** A job's way from submission to settlement, every detour of it, and a restart in every state. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, to0x, toBase64 } from '#attestation/base';
import { deliveryDigest, parseBundle } from '#attestation/records';
import { pattern } from '#libs/wire';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  deliveryOf,
  fund,
  keyRelease,
  makeJob,
  provider,
  register,
  refOf,
  segment,
  stateOf,
  storeBlob,
  submit,
  submitFunded,
  upload,
  providers,
  shown,
  shownInVain,
  type Fixture,
} from './job-fixture.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

const engines = ['embedded', 'PostgreSQL'] as const;
const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');

describe.each(engines.filter((engine) => engine === 'embedded' || serverUrl !== undefined))('%s', (engine) => {
  let test: TestPlane;
  let nodeId: string;
  let server: TestDatabase | null = null;
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await createTestDatabase(serverUrl!);
    test = await startTestPlane({ databaseUrl: server?.url ?? null });
    nodeId = await register(test);
  });
  afterAll(async () => {
    await test.stop();
    await server?.drop();
  });

  async function delivered(): Promise<Fixture> {
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    for (const index of [0, 1, 2]) await checkpoint(test, grant, job, index);
    await test.send(pattern.leaseDeliver, { ...refOf(grant), ...(await deliveryOf(test, job, [])) });
    return job;
  }

  function ended(job: Fixture, state: number) {
    return { escrowId: job.escrowId, name: 'JobEnded', data: { state: String(state) } };
  }

  describe('a job', () => {
    it('goes from submission to settlement, surviving a restart in every state', async () => {
      const job = await submit(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'ESCROW_MISSING' });
      await test.restart();
      await fund(test, job);
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: null });
      await test.restart();
      const grant = await acquire(test, nodeId);
      expect(grant.job).toMatchObject({ jobId: job.jobId, resume: null });
      const ref = refOf(grant);
      await test.restart();
      expect(await stateOf(test, job)).toMatchObject({ state: 'assigned', attempt: 1 });
      const twice = [ref, ref].map((one) => test.send(pattern.leaseAttested, { ...one, ...shown }));
      for (const answer of await Promise.all(twice)) expect(answer).toMatchObject({ tier: 'affirming' });
      await test.restart();
      await test.send(pattern.leaseKeyed, { ...ref, release: keyRelease(job) });
      await test.restart();
      expect(await stateOf(test, job)).toMatchObject({ state: 'keyed' });
      await test.send(pattern.leaseRunning, ref);
      await test.send(pattern.leaseProgress, { ...ref, step: 1, of: 6, loss: 2.3, accuracy: 0.1 });
      await checkpoint(test, grant, job, 0);
      await test.restart();
      expect(await stateOf(test, job)).toMatchObject({ state: 'running', progress: { step: 1, loss: 2.3 } });
      await checkpoint(test, grant, job, 1);
      const delivery = await deliveryOf(test, job, [2]);
      await test.send(pattern.leaseDeliver, { ...ref, ...delivery });
      await test.restart();
      expect(await stateOf(test, job)).toMatchObject({ state: 'delivered', settlementTransaction: null });
      await test.send(pattern.leaseDeliver, { ...ref, ...delivery });
      const other = { ...ref, ...(await deliveryOf(test, job, [2])) };
      expect(await codeOf(test.send(pattern.leaseDeliver, other))).toBe('DELIVERY_CONFLICT');
      test.chain.mine(ended(job, 5));
      await test.poll();
      expect(await stateOf(test, job)).toMatchObject({ state: 'delivered' });
      await confirm(test);
      await test.restart();
      expect(await stateOf(test, job)).toMatchObject({ state: 'settled', escrowState: 'settled' });
      const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}/bundle`).expect(200);
      const bundle = parseBundle(new Uint8Array(body as Buffer));
      expect(bundle.segments.map((s) => ('signed' in s ? s.signed?.session : null))).toEqual([0, 0, 0]);
      expect(bundle.settlement.transactions.map((t) => t.call)).toEqual(['start', 'open', 'finalize']);
    });

    it('is not given out before enough escrow is confirmed', async () => {
      const job = await submit(test);
      test.chain.mine({ escrowId: job.escrowId, name: 'JobOpened', data: { price: '999' } });
      await confirm(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'ESCROW_INSUFFICIENT' });
      expect(await test.send(pattern.leaseAcquire, { nodeId, waitMs: 0 })).toBeNull();
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    });

    it('is found funded when the escrow was opened before it was submitted', async () => {
      const job = makeJob(test.clock.at());
      await fund(test, job);
      await upload(test, job);
      await test.as('client').post('/v1/jobs', job.body).expect(201);
      expect(await stateOf(test, job)).toMatchObject({ funded: true, code: null });
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    });

    it('ends disputed when the escrow ends otherwise than by paying', async () => {
      const job = await delivered();
      test.chain.mine(ended(job, 10));
      await confirm(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'disputed', code: 'ESCROW_SLASHED' });
    });

    it('is cancelled with its escrow', async () => {
      const job = await submitFunded(test);
      test.chain.mine(ended(job, 7));
      await confirm(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'cancelled', code: 'ESCROW_ABORTED' });
    });

    it('settles even when the payment is seen before the delivery', async () => {
      const job = await submitFunded(test);
      const grant = await acquire(test, nodeId);
      await advanceTo(test, grant, 'running');
      test.chain.mine(ended(job, 5));
      await confirm(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'running' });
      await test.send(pattern.leaseDeliver, { ...refOf(grant), ...(await deliveryOf(test, job, [0, 1, 2])) });
      expect(await stateOf(test, job)).toMatchObject({ state: 'settled' });
    });

    it('expires when nobody accepts its escrow, and when its deadline passes', async () => {
      const unaccepted = await submit(test);
      const late = await submitFunded(test);
      test.chain.mine({ escrowId: late.escrowId, name: 'JobAccepted', data: { provider: to0x(provider) } });
      await confirm(test);
      test.clock.pass(3601);
      await test.sweep();
      expect(await stateOf(test, unaccepted)).toMatchObject({ state: 'expired', code: 'JOB_NOT_ACCEPTED' });
      test.clock.pass(3 * 3600);
      await test.sweep();
      expect(await stateOf(test, late)).toMatchObject({ state: 'expired', code: 'JOB_DEADLINE' });
    });
  });

  describe('the chain', () => {
    it('may take a settlement back and give it again', async () => {
      const job = await delivered();
      test.chain.mine(ended(job, 5));
      await confirm(test);
      expect(await stateOf(test, job)).toMatchObject({ state: 'settled' });
      test.chain.reorganise(3);
      for (let n = 0; n < 4; n += 1) test.chain.mine();
      await test.poll();
      expect(await stateOf(test, job)).toMatchObject({ state: 'delivered', settlementTransaction: null });
      test.chain.mine(ended(job, 5));
      await confirm(test);
      const after = await stateOf(test, job);
      expect(after).toMatchObject({ state: 'settled', code: null });
      const events = await test.plane.database.dataSource.query(
        `SELECT count(*) AS n FROM escrow_event WHERE escrow_id = $1 AND name = 'JobEnded'`,
        [job.escrowId],
      );
      expect(events[0].n).toBe('1');
    });

    it('may be away: nothing changes, readiness says so, and it catches up', async () => {
      const job = await submit(test);
      test.chain.isAway = true;
      expect(await codeOf(test.poll())).toBe('CHAIN_UNREACHABLE');
      const { body } = await test.as(null).get('/health/ready').expect(200);
      expect(body).toMatchObject({ status: 'degraded', chain: { state: 'degraded', code: 'CHAIN_UNREACHABLE' } });
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'ESCROW_MISSING' });
      test.chain.isAway = false;
      await fund(test, job);
      expect(await stateOf(test, job)).toMatchObject({ funded: true });
      expect((await test.as(null).get('/health/ready')).body).toMatchObject({ status: 'ok' });
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    });
  });

  describe('a lease', () => {
    it('that expires gives the job back with its checkpoints; the old holder is fenced everywhere', async () => {
      const job = await submitFunded(test);
      const first = await acquire(test, nodeId);
      await advanceTo(test, first, 'running');
      const blob = await checkpoint(test, first, job, 0);
      test.clock.pass(31);
      await test.sweep();
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'LEASE_EXPIRED', attempt: 2 });
      const second = await acquire(test, nodeId);
      expect(second.fence).toBe(first.fence + 1);
      expect(second.job.resume).toEqual({ step: 2, blob, receipts: [await segment(job, 0)] });

      const old = refOf(first);
      const delivery = await deliveryOf(test, job, [0, 1, 2]);
      const late = await segment(job, 1);
      const calls: [string, () => Promise<unknown>][] = [
        ['attested', () => test.send(pattern.leaseAttested, { ...old, ...shown })],
        ['keyed', () => test.send(pattern.leaseKeyed, { ...old, release: keyRelease(job) })],
        ['running', () => test.send(pattern.leaseRunning, old)],
        ['progress', () => test.send(pattern.leaseProgress, { ...old, step: 3, of: 6 })],
        ['checkpoint', () => test.send(pattern.leaseCheckpoint, { ...old, step: 4, ...late, blob })],
        ['deliver', () => test.send(pattern.leaseDeliver, { ...old, ...delivery })],
        ['fail', () => test.send(pattern.leaseFail, { ...old, code: 'X_Y_Z', detail: 'd', retry: true })],
      ];
      for (const [name, call] of calls) expect(await codeOf(call()), name).toBe('LEASE_FENCED');
      const mixed = { leaseId: first.leaseId, fence: second.fence };
      expect(await codeOf(test.send(pattern.leaseRunning, mixed))).toBe('LEASE_FENCED');
      expect(await stateOf(test, job)).toMatchObject({ state: 'assigned', attempt: 2 });

      await advanceTo(test, second, 'running');
      await test.send(pattern.leaseDeliver, { ...refOf(second), ...(await deliveryOf(test, job, [1, 2])) });
      expect(await stateOf(test, job)).toMatchObject({ state: 'delivered', attempt: 2 });
      const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}/bundle`).expect(200);
      expect(
        parseBundle(new Uint8Array(body as Buffer)).segments.map((s) => ('signed' in s ? s.signed?.session : null)),
      ).toEqual([0, 1, 1]);
    });

    it('lives as long as its heartbeats, and is told of loss and cancellation', async () => {
      const job = await submitFunded(test);
      const grant = await acquire(test, nodeId);
      const beat = () => test.send(pattern.nodeHeartbeat, { nodeId, leases: [refOf(grant)] });
      for (let n = 0; n < 4; n += 1) {
        test.clock.pass(20);
        expect(await beat()).toEqual({ cancel: [], lost: [] });
        await test.sweep();
      }
      const stale = { leaseId: grant.leaseId, fence: grant.fence + 1 };
      const unknown = { leaseId: '7f0e9e0c-3a1f-4d53-9a5c-2f8a5b1f9b10', fence: 1 };
      expect(await test.send(pattern.nodeHeartbeat, { nodeId, leases: [stale, unknown] })).toEqual({
        cancel: [],
        lost: [stale.leaseId, unknown.leaseId],
      });
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
      expect(await beat()).toEqual({ cancel: [grant.leaseId], lost: [] });
      expect(await codeOf(test.send(pattern.leaseRunning, refOf(grant)))).toBe('LEASE_FENCED');
      expect(await stateOf(test, job)).toMatchObject({ state: 'cancelled', code: 'CANCELLED_BY_CLIENT' });
    });

    it('ends after too many attempts', async () => {
      const job = await submitFunded(test);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const grant = await acquire(test, nodeId);
        await test.send(pattern.leaseFail, { ...refOf(grant), code: 'ENCLAVE_LOST', detail: 'gone', retry: true });
      }
      expect(await stateOf(test, job)).toMatchObject({ state: 'failed', code: 'ENCLAVE_LOST', attempt: 3 });
    });

    it('that fails for good says where: step and tensor of a guard violation', async () => {
      const job = await submitFunded(test);
      const grant = await acquire(test, nodeId);
      await advanceTo(test, grant, 'running');
      const failure = { code: 'GUARD_VIOLATION', detail: 'too large', step: 3, tensor: 'W1', retry: false };
      await test.send(pattern.leaseFail, { ...refOf(grant), ...failure });
      expect(await stateOf(test, job)).toMatchObject({
        state: 'failed',
        code: 'GUARD_VIOLATION',
        reason: { step: 3, tensor: 'W1' },
      });
    });

    it('whose evidence is refused ends the job when no other node is there', async () => {
      const job = await submitFunded(test);
      const grant = await acquire(test, nodeId);
      const answer = await test.send(pattern.leaseAttested, { ...refOf(grant), ...shownInVain });
      expect(answer).toMatchObject({ tier: 'contraindicated', checks: [{ code: 'TEST_DEBUG', status: 'refused' }] });
      expect(await stateOf(test, job)).toMatchObject({ state: 'refused', code: 'TEST_DEBUG' });
      test.clock.pass(601);
    });

    it('whose evidence is refused goes to another node, and never back to the same', async () => {
      const second = await register(test, 'second');
      const job = await submitFunded(test);
      const grant = await acquire(test, nodeId);
      await test.send(pattern.leaseAttested, { ...refOf(grant), ...shownInVain });
      expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', code: 'TEST_DEBUG', attempt: 2 });
      expect(await test.send(pattern.leaseAcquire, { nodeId, waitMs: 0 })).toBeNull();
      const again = await acquire(test, second);
      await test.send(pattern.leaseAttested, { ...refOf(again), ...shownInVain });
      expect(await stateOf(test, job)).toMatchObject({ state: 'refused', code: 'TEST_DEBUG', attempt: 2 });
      test.clock.pass(601);
    });

    it('is given only to the provider that the terms name', async () => {
      const elsewhere = await register(test, 'elsewhere', 'otherOperator');
      const job = await submitFunded(test);
      expect(await test.send(pattern.leaseAcquire, { nodeId: elsewhere, waitMs: 0 }, 'otherOperator')).toBeNull();
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
      const anyone = await submitFunded(test, { terms: { provider: new Uint8Array(20) } });
      expect((await acquire(test, elsewhere, 'otherOperator')).job.jobId).toBe(anyone.jobId);
      await test.as('client').post(`/v1/jobs/${anyone.jobId}/cancel`, {}).expect(200);
    });

    it('is not given to two of many that ask at once', async () => {
      const jobs = [await submitFunded(test), await submitFunded(test), await submitFunded(test)];
      const asked = Array.from({ length: 12 }, () =>
        test.send<{ job: { jobId: string } } | null>(pattern.leaseAcquire, { nodeId, waitMs: 0 }),
      );
      const given = (await Promise.all(asked)).flatMap((grant) => (grant === null ? [] : [grant.job.jobId]));
      expect(given.sort()).toEqual(jobs.map((job) => job.jobId).sort());
      for (const { jobId } of jobs) await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    });

    it('is waited for: a long poll ends when a job is funded', async () => {
      const waiting = test.send<{ job: { jobId: string } } | null>(pattern.leaseAcquire, { nodeId, waitMs: 10_000 });
      const job = await submitFunded(test);
      expect((await waiting)?.job.jobId).toBe(job.jobId);
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    });
  });

  describe('reports of training', () => {
    it('are refused when they do not fit the job, each with its code', async () => {
      const job = await submitFunded(test);
      const other = await submit(test);
      const grant = await acquire(test, nodeId);
      const ref = refOf(grant);
      const blob = await storeBlob(test);
      const send = async (index: number, step: number, changes = {}, secret?: Uint8Array) =>
        codeOf(
          test.send(pattern.leaseCheckpoint, { ...ref, step, ...(await segment(job, index, changes, secret)), blob }),
        );
      expect(await send(0, 2)).toBe('RECEIPT_KEY_UNKNOWN');
      await advanceTo(test, grant, 'attested');
      expect(await send(0, 2)).toBe('JOB_STATE');
      const keyed = async (release: object) => codeOf(test.send(pattern.leaseKeyed, { ...ref, release }));
      const good = keyRelease(job);
      expect(await keyed(keyRelease(job, new Uint8Array(32).fill(7)))).toBe('RELEASE_SIGNATURE');
      expect(await keyed(keyRelease(other))).toBe('RELEASE_SIGNATURE');
      expect(await keyed(keyRelease(job, undefined, test.clock.at() - 1))).toBe('RELEASE_TIME');
      for (const change of [
        { notAfter: good.release.notAfter + 1 },
        { evidence: `0x${'00'.repeat(32)}` },
        { grantedAt: good.release.grantedAt + 1 },
        { job: other.escrowId },
        { provider: providers.otherOperator },
        { key: providers.otherOperator },
        ...['session', 'policy', 'dataset', 'grant', 'nonce'].map((word) => ({ [word]: `0x${'00'.repeat(32)}` })),
      ]) {
        const changed = { ...good, release: { ...good.release, ...change } };
        expect(await keyed(changed), JSON.stringify(change)).toBe('RELEASE_SIGNATURE');
      }
      for (const change of [
        { releaseSignature: good.resultSignature },
        { resultSignature: good.releaseSignature },
        { result: toBase64(new Uint8Array(9)) },
        { appraisals: [{ evidence: good.release.evidence, notAfter: 2, signature: good.releaseSignature }] },
      ]) {
        expect(await keyed({ ...good, ...change }), JSON.stringify(change)).toBe('RELEASE_SIGNATURE');
      }
      const none = `0x${'00'.repeat(65)}`;
      expect(await keyed({ ...good, releaseSignature: none })).toBe('SEAL_SIGNATURE');
      expect(await keyed({ ...good, resultSignature: none })).toBe('SEAL_SIGNATURE');
      expect(await keyed(good)).toBe('ok');
      await test.send(pattern.leaseRunning, ref);
      expect(await send(1, 4)).toBe('CHECKPOINT_GAP');
      expect(await send(0, 4)).toBe('CHECKPOINT_GAP');
      expect(await send(0, 2, { stepCount: 3 })).toBe('CHECKPOINT_GAP');
      expect(await send(0, 2, { datasetRoot: new Uint8Array(32) })).toBe('STATEMENT_MISMATCH');
      expect(await send(0, 2, {}, new Uint8Array(32).fill(7))).toMatch(/^COSE_/);
      const foreign = { ...ref, step: 2, ...(await segment(other, 0)), blob };
      expect(await codeOf(test.send(pattern.leaseCheckpoint, foreign))).toBe('STATEMENT_MISMATCH');
      const unknownBlob = { ...ref, step: 2, ...(await segment(job, 0)), blob: `0x${'00'.repeat(32)}` };
      expect(await codeOf(test.send(pattern.leaseCheckpoint, unknownBlob))).toBe('BLOB_UNKNOWN');
      const broken = { ...ref, step: 2, statement: 'AAAA', receipt: 'AAAA', blob };
      expect(await codeOf(test.send(pattern.leaseCheckpoint, broken))).toBe('STATEMENT_LENGTH');
      expect(await send(0, 2)).toBe('ok');
      expect(await send(0, 2)).toBe('ok');
      expect(await send(0, 2, { weightsAfter: new Uint8Array(32) })).toBe('CHECKPOINT_CONFLICT');
      expect(await send(1, 4, { weightsBefore: new Uint8Array(32) })).toBe('CHECKPOINT_GAP');
      const deliver = async (receipts: number[], changes = {}) =>
        codeOf(test.send(pattern.leaseDeliver, { ...ref, ...(await deliveryOf(test, job, receipts)), ...changes }));
      expect(await deliver([1])).toBe('DELIVERY_INCOMPLETE');
      expect(await deliver([1, 2], { borders: [`0x${'00'.repeat(32)}`, `0x${'00'.repeat(32)}`] })).toBe(
        'DELIVERY_BORDERS',
      );
      const { run } = await deliveryOf(test, job, []);
      expect(await deliver([1, 2], { run: { ...run, last: run.bordersRoot } })).toBe('DELIVERY_RUN');
      const delivery = await deliveryOf(test, job, [1, 2]);
      const digest = new Uint8Array(32);
      const claimed = {
        result: { ...delivery.result, ciphertextDigest: to0x(digest) },
        run: { ...delivery.run, delivery: to0x(deliveryDigest(digest, fromHex(delivery.result.keyCommit))) },
      };
      expect(await deliver([1, 2], claimed)).toBe('DELIVERY_CIPHERTEXT');
      expect(await codeOf(test.send(pattern.leaseDeliver, { ...ref, ...delivery }))).toBe('ok');
      await test.as('client').post(`/v1/jobs/${other.jobId}/cancel`, {}).expect(200);
    });
  });
});
