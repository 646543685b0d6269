/** What the escrow on chain allows, and what a chain does that moves while it is read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  for (const [name, state] of [
    ['JobStarted', 'submitted'],
    ['JobCommitted', 'failed'],
  ] as const) {
    const job = await submitFunded(test);
    test.chain.mine({ escrowId: job.escrowId, name, data: {} });
    await confirm(test);
    const { body } = await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(409);
    expect(body.code).toBe('JOB_STATE');
    expect(await stateOf(test, job)).toMatchObject({ state });
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

describe('the escrow of a job', () => {
  const challenger = `0x${'cd'.repeat(20)}`;
  const event = (job: Fixture, name: string, data: object) => ({
    escrowId: job.escrowId,
    name,
    data: { ...data } as Record<string, unknown>,
  });

  it('shows duties and payments, over REST and GraphQL, to whom the job belongs', async () => {
    const job = await submitFunded(test);
    const path = `/v1/jobs/${job.jobId}/escrow`;
    expect((await test.as('client').get(path).expect(200)).body).toMatchObject({ state: 'open', payments: [] });
    test.chain.mine(event(job, 'JobCommitted', { borders: Array.from({ length: 4 }, () => `0x${'01'.repeat(32)}`) }));
    test.chain.mine(
      event(job, 'SetDue', { all: true, deadline: '1900000000' }),
      event(job, 'VoucherPaid', { cumulative: '7' }),
      event(job, 'DutyOpened', { segment: '1', challenger, deadline: '1800000000', bond: '130' }),
      event(job, 'DutyDischarged', { segment: '1', selector: '0x00000000', by: challenger }),
      event(job, 'DutyOpened', { segment: '2', challenger, deadline: '1800000500', bond: '130' }),
    );
    await confirm(test);
    const { body } = await test.as('client').get(path).expect(200);
    expect(body).toMatchObject({
      ...{ escrowId: job.escrowId, state: 'committed', paidWei: '7', upTo: 3, proved: 1 },
      setDue: { all: true, deadline: 1_900_000_000 },
      duties: [
        { segment: 1, challenger, bondWei: '0', proved: true },
        { segment: 2, challenger, bondWei: '130', proved: false, deadline: 1_800_000_500 },
      ],
    });
    const { bondFee } = job.terms;
    const paid = body.payments.map(({ kind, to, amountWei }: Record<string, string>) => [kind, to, amountWei]);
    expect(paid).toEqual([
      ['voucher', 'provider', '7'],
      ['bond', 'provider', String(130n - bondFee)],
      ['fee', 'treasury', String(bondFee)],
    ]);
    const query = `{ job(id: "${job.jobId}") { escrow { state proved duties { segment } payments { kind to amountWei } } } }`;
    const answer = await test.as('reviewer').post('/graphql', { query }).expect(200);
    expect(answer.body.data.job.escrow).toMatchObject({
      ...{ state: 'committed', proved: 1, duties: [{ segment: 1 }, { segment: 2 }] },
      payments: body.payments.map(({ kind, to, amountWei }: Record<string, string>) => ({ kind, to, amountWei })),
    });
    await test.as('otherClient').get(path).expect(404);
    await test.as('operator').get(path).expect(403);
  });

  it('is without what a reorganisation took back', async () => {
    const job = await submitFunded(test);
    test.chain.mine(event(job, 'VoucherPaid', { cumulative: '7' }));
    await confirm(test);
    const path = `/v1/jobs/${job.jobId}/escrow`;
    expect((await test.as('client').get(path)).body.paidWei).toBe('7');
    test.chain.reorganise(3);
    for (let n = 0; n < 6; n += 1) test.chain.mine();
    await test.poll();
    expect((await test.as('client').get(path)).body).toMatchObject({ state: 'open', paidWei: '0', payments: [] });
  });
});
