/** Leases that end for want of a service: none uses up an attempt, and the pauses between them grow. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { pattern, type LeaseAcquired } from '#libs/wire';
import { isAway, setback } from '../src/claims/setbacks.js';
import { startTestPlane, type TestPlane } from './harness.js';
import { refOf, register, submitFunded, type Fixture } from './job-fixture.js';

let test: TestPlane;
let nodeId: string;
let job: Fixture;
beforeAll(async () => {
  test = await startTestPlane({ retryPauseSeconds: 2, attemptsMax: 3 });
  nodeId = await register(test);
});
afterAll(async () => test.stop());
beforeEach(async () => {
  if (job !== undefined) await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {});
  job = await submitFunded(test);
});

const ask = () => test.send<LeaseAcquired>(pattern.leaseAcquire, { nodeId, waitMs: 0 });
const view = async () => (await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200)).body;

async function failOnce(code: string): Promise<void> {
  const grant = await ask();
  await test.send(pattern.leaseFail, { ...refOf(grant!), code, detail: 'made by a test', retry: true });
}

/** Seconds until the job is given to the node again. */
async function pause(): Promise<number> {
  const { notBefore } = await view();
  const seconds = (Date.parse(notBefore) - test.clock.now().getTime()) / 1000;
  test.clock.pass(seconds - 1);
  expect(await ask()).toBeNull();
  test.clock.pass(1);
  return seconds;
}

it.each([
  'BROKER_UNREACHABLE',
  'BROKER_BUSY',
  'BROKER_JOURNAL',
  'NONCES_OUTSTANDING',
  'NONCE_UNKNOWN',
  'HOST_TERMS_ATTESTOR',
])('W-H1 %s, for two minutes and a half, fails no job and uses up no attempt; each pause is longer', async (code) => {
  const pauses: number[] = [];
  for (let passed = 0; passed < 150; passed += pauses.at(-1)!) {
    await failOnce(code);
    expect(await view()).toMatchObject({ state: 'submitted', attempt: 1, code });
    pauses.push(await pause());
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 64]);
  expect((await ask())?.job.jobId).toBe(job.jobId);
});

it('W-H1 other failures use up attempts, with growing pauses too, and end the job', async () => {
  await failOnce('ENCLAVE_FAILED');
  expect(await pause()).toBe(2);
  await failOnce('ENCLAVE_FAILED');
  expect(await view()).toMatchObject({ attempt: 3 });
  expect(await pause()).toBe(4);
  await failOnce('ENCLAVE_FAILED');
  expect(await view()).toMatchObject({ state: 'failed', code: 'ENCLAVE_FAILED', saidBy: 'node' });
  const again = await test.as('client').post(`/v1/jobs/${job.jobId}/retry`, {}).expect(200);
  expect(again.body).toMatchObject({ state: 'submitted', attempt: 1, notBefore: null });
  expect((await ask())?.job.jobId).toBe(job.jobId);
});

it('W-H1 a node that says its broker is away and may not be tried again ends the job all the same', async () => {
  const grant = await ask();
  const failure = { code: 'BROKER_UNREACHABLE', detail: 'made by a test', retry: false };
  await test.send(pattern.leaseFail, { ...refOf(grant!), ...failure });
  expect((await view()).state).toBe('refused');
});

it('W-H1 whatever key broker, its client and the chain’s say of not now is free', () => {
  const root = new URL('../../../', import.meta.url);
  const said = ['apps/key-broker/src/', 'libs/node/src/', 'libs/settlement/src/'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => readFileSync(new URL(folder + name, root), 'utf8'))
      .flatMap((text) => [...text.matchAll(/new CollateralError\(\s*'((?:BROKER|NONCES?|CHAIN)_[A-Z0-9_]+)'/g)]),
  );
  expect(said.length).toBeGreaterThan(12);
  expect(said.map(([, code]) => code!).filter((code) => !isAway(code))).toEqual([]);
});

it('W-H1 what lasted is the first setback again, and only named codes are free', () => {
  const at = new Date(10 ** 12);
  const after = (seconds: number) => setback({ setbacks: 9 }, { acquiredAt: new Date(+at - 1000 * seconds) }, at, 2);
  expect(after(60)).toEqual({ setbacks: 10, notBefore: new Date(+at + 64_000) });
  expect(after(601)).toEqual({ setbacks: 1, notBefore: new Date(+at + 2000) });
  expect(['CHAIN_UNREACHABLE', 'NONCES_JOB', 'LEASE_GIVEN_BACK'].map(isAway)).toEqual([true, true, true]);
  const own = [
    'LEASE_EXPIRED',
    'XBROKER_UNREACHABLE',
    'CHAIN_FUNDS',
    'HOST_TERMS_STAKE',
    'NONCES_',
    'STORE_UNREACHABLE',
  ];
  expect(own.filter(isAway)).toEqual([]);
});
