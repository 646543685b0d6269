/** A job and its escrow's event, stored at the same moment by two transactions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EscrowProjection } from '../src/jobs/escrow-projection.js';
import { startTestPlane, type TestPlane } from './harness.js';
import { confirm, makeJob, stateOf, upload } from './job-fixture.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

const databaseUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
if (databaseUrl === undefined) console.warn('SKIPPED: races of transactions need VERITRAIN_TEST_DATABASE_URL');

describe.runIf(databaseUrl !== undefined)('a job stored while its escrow opens', () => {
  let database: TestDatabase;
  let test: TestPlane;
  beforeAll(async () => {
    database = await createTestDatabase(databaseUrl!);
    test = await startTestPlane({ databaseUrl: database.url });
  });
  afterAll(async () => {
    await test?.stop();
    await database?.drop();
  });

  it('does not miss it, whichever is stored first', async () => {
    const projection = test.plane.app.get(EscrowProjection);
    const summaries = projection.summaries.bind(projection);
    const polls: Promise<void>[] = [];
    projection.summaries = async (manager, escrowIds) => {
      const found = await summaries(manager, escrowIds);
      if (polls.length === 0) {
        polls.push(confirm(test));
        await Promise.race([...polls, sleep(1500)]);
      }
      return found;
    };
    const job = makeJob(test.clock.at());
    await upload(test, job);
    test.chain.mine({ escrowId: job.escrowId, name: 'JobOpened', data: { price: String(job.terms.price) } });
    await test.as('client').post('/v1/jobs', job.body).expect(201);
    await Promise.all(polls);
    expect(await stateOf(test, job)).toMatchObject({ state: 'submitted', escrowState: 'open', code: null });
  });
});
