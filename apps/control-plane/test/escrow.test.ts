/** What the escrow on chain allows, and what a chain does that moves while it is read. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeOf, startTestPlane, type TestPlane } from './harness.js';
import { confirm, stateOf, submitFunded, type Fixture } from './job-fixture.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const ended = (job: Fixture, state: number) => ({
  escrowId: job.escrowId,
  name: 'JobEnded',
  data: { state: String(state) },
});

it('a job is not cancelled once its escrow has started', async () => {
  for (const name of ['JobStarted', 'JobCommitted']) {
    const job = await submitFunded(test);
    test.chain.mine({ escrowId: job.escrowId, name, data: {} });
    await confirm(test);
    const { body } = await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(409);
    expect(body.code).toBe('JOB_STATE');
    expect(await stateOf(test, job)).toMatchObject({ state: 'submitted' });
    test.chain.mine(ended(job, 7));
    await confirm(test);
  }
});

it('the chain may change branch while it is read: the range is read again', async () => {
  const job = await submitFunded(test);
  test.chain.mine(ended(job, 7));
  for (let n = 0; n < 3; n += 1) test.chain.mine();
  test.chain.duringEvents = () => {
    test.chain.reorganise(4);
    for (let n = 0; n < 5; n += 1) test.chain.mine();
  };
  expect(await codeOf(test.poll())).toBe('CHAIN_RACE');
  await test.poll();
  expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', escrowState: 'open' });
  await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
});
