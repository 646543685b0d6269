/**
 * A database of the former release, with what it had in hand: it migrates with its rows, its keys go on, what was settled stays,
 * and what was under way ends with a code.
 */
import { createHash, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { parseTermsJson } from '#attestation/records';
import { LeaseGrant, pattern } from '#libs/wire';
import { former, insertFormer, type Row } from '../../apps/control-plane/test/former-rows.js';
import { codeOf, startTestPlane, type TestPlane } from '../../apps/control-plane/test/harness.js';
import { capabilities, refOf } from '../../apps/control-plane/test/job-fixture.js';
import { createTestDatabase, type TestDatabase } from '../../apps/control-plane/test/test-database.js';
import { migrations } from '../../migrations/index.js';

const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');
const describe = describeAlways.skipIf(serverUrl === undefined);

/** The last migration of the former release. */
const last = 'WorkerRenewals1763805000000';
const settled = former.rows['job']![0]!;
const jobId = `0x${'ab'.repeat(32)}`;
const escrowId = `0x${'ac'.repeat(32)}`;
const leaseId = randomUUID();
const operatorKey = 'vt_formerhost_secret-of-the-former-release-0123';

function openedToo(row: Row): readonly [table: string, row: Row] {
  return ['escrow_event', { ...row, escrow_id: escrowId, log_index: 99 }];
}

/** The settled job once more, at work under a lease when its replicas were stopped. */
const underWay: readonly (readonly [table: string, row: Row])[] = [
  [
    'job',
    {
      ...{ ...settled, id: jobId, escrow_id: escrowId, seq: '2', rank: '2', idempotency_key: 'under way' },
      ...{ state: 'running', escrow_state: 'open', reason: null, progress: null, lease_id: leaseId },
      ...{ settlement_transaction: null },
    },
  ],
  [
    'lease',
    {
      ...{ ...former.rows['lease']![0]!, id: leaseId, job_id: jobId, state: 'active', ended_at: null },
      expires_at: '2026-01-01T00:00:20Z',
    },
  ],
  ...former.rows['escrow_event']!.filter(({ name }) => name === 'JobOpened').map(openedToo),
];
const keyRow: Row = {
  ...{ id: 'formerhost', tenant: 'host', role: 'operator', name: 'former', provider: settled['provider'] },
  ...{
    secret_hash: createHash('sha256')
      .update(operatorKey.replace(/^vt_[^_]+_/, ''))
      .digest(),
    revoked_at: null,
  },
  created_at: settled['created_at'],
};

async function writeFormer(url: string): Promise<void> {
  const names = migrations.map((made) => new made().name);
  const source = await new DataSource({
    ...{ type: 'postgres', url, installExtensions: false, uuidExtension: 'pgcrypto' },
    migrations: migrations.slice(0, names.indexOf(last) + 1),
  }).initialize();
  try {
    await source.runMigrations({ transaction: 'each' });
    const rows = Object.entries(former.rows).flatMap(([table, found]) => found.map((row) => [table, row] as const));
    for (const [table, row] of [...rows, ...underWay, ['api_key', keyRow] as const]) {
      await insertFormer((sql, values) => source.query(sql, values), table, row);
    }
    for (const action of ['job.submit', 'job.settle']) {
      const told = { at: settled['created_at'], actor: 'client', action, subject: settled['id'], code: null };
      await insertFormer((sql, values) => source.query(sql, values), 'audit_log', { ...told, tenant: 'acme' });
    }
  } finally {
    await source.destroy();
  }
}

describe('a database of the former release', () => {
  let database: TestDatabase;
  let test: TestPlane;
  beforeAll(async () => {
    database = await createTestDatabase(serverUrl!);
    await writeFormer(database.url);
    test = await startTestPlane({ databaseUrl: database.url });
  });
  afterAll(async () => {
    await test?.stop();
    await database?.drop();
  });

  const view = async (id: unknown) =>
    (
      await test
        .as('client')
        .get(`/v1/jobs/${String(id)}`)
        .expect(200)
    ).body;

  it('keeps what was settled, to the byte of its bundle', async () => {
    expect(await view(settled['id'])).toMatchObject({ state: 'settled', escrowState: 'settled' });
    const { body } = await test
      .as('client')
      .get(`/v1/jobs/${String(settled['id'])}/bundle`)
      .expect(200);
    expect(
      `0x${createHash('sha256')
        .update(body as Buffer)
        .digest('hex')}`,
    ).toBe(former.bundle.sha256);
  });

  it('has an audit log whose first link names the rows from before it was a chain', async () => {
    await test.as('client').get('/v1/keys').expect(403);
    const { body } = await test.as('admin').get('/v1/audit/verified').expect(200);
    expect(body).toMatchObject({ rowsBefore: 2 });
    const { dataSource } = test.plane.database;
    await dataSource.query(`UPDATE audit_log SET actor = 'nobody' WHERE action = 'job.settle'`);
    expect((await test.as('admin').get('/v1/audit/verified')).body.code).toBe('AUDIT_BROKEN');
    await dataSource.query(`UPDATE audit_log SET actor = 'client' WHERE action = 'job.settle'`);
    await test.as('admin').get('/v1/audit/verified').expect(200);
  });

  it('ends a job that was under way with TERMS_VERSION, which a node of this release says', async () => {
    const auth = operatorKey;
    const node = { auth, name: 'new', provider: settled['provider'], capabilities };
    const { nodeId } = await test.send<{ nodeId: string }>(pattern.nodeRegister, node);
    expect(await view(jobId)).toMatchObject({ state: 'running', attempt: 1 });
    await test.sweep();
    test.clock.pass(31);
    await test.sweep();
    expect(await view(jobId)).toMatchObject({ state: 'submitted', code: 'LEASE_EXPIRED' });
    const grant = LeaseGrant.parse(await test.send(pattern.leaseAcquire, { auth, nodeId, waitMs: 0 }));
    expect(grant.job.jobId).toBe(jobId);
    const code = await codeOf(Promise.resolve().then(() => parseTermsJson(grant.job.terms)));
    expect(code).toBe('TERMS_VERSION');
    const failure = { code, detail: 'as the host agent says it', retry: false };
    await test.send(pattern.leaseFail, { auth, ...refOf(grant), ...failure });
    expect(await view(jobId)).toMatchObject({ state: 'refused', code: 'TERMS_VERSION', saidBy: 'node' });
  });
});
