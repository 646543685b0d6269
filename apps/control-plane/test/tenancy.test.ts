/** Keys of tenants, their data sets, and the log of who did what. */
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { datasetManifestJson } from '#attestation/records';
import { ApiKey, AuditEntry } from '#libs/persistence';
import { pattern } from '#libs/wire';
import { AuditChain } from '../src/core/audit/audit-chain.js';
import { ApiKeys } from '../src/core/auth/api-keys.js';
import { clientAddress, readTrustProxy } from '../src/core/config/trust-proxy.js';
import { BlobStore } from '../src/core/objects/blob-store.js';
import { codeOf, keys, startTestPlane, StillClock, type KeyName, type TestPlane } from './harness.js';
import { capabilities, fund, makeJob, providers, register, submitFunded, upload, type Fixture } from './job-fixture.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const manager = () => test.plane.database.dataSource.manager;
const by = (key: string) => ({
  get: (path: string) => request(test.plane.app.getHttpServer()).get(path).set('authorization', `Bearer ${key}`),
});

interface Made {
  readonly id: string;
  readonly key: string;
}
const make = async (who: KeyName, wanted: object): Promise<Made> =>
  (await test.as(who).post('/v1/keys', wanted).expect(201)).body as Made;

describe('administrators', () => {
  let job: Fixture;
  let nodeId: string;
  beforeAll(async () => {
    nodeId = await register(test);
    job = await submitFunded(test);
  });

  it('W-M7 of a tenant reach nothing of another: jobs, nodes, keys, data sets, the log, dead letters, the queue', async () => {
    const other = test.as('otherAdmin');
    const own = test.as('tenantAdmin');
    for (const path of ['', '/events', '/escrow', '/bundle']) {
      await other.get(`/v1/jobs/${job.jobId}${path}`).expect(404);
    }
    for (const command of ['cancel', 'pause', 'resume', 'retry']) {
      await other.post(`/v1/jobs/${job.jobId}/${command}`, {}).expect(404);
    }
    for (const command of ['cordon', 'drain', 'ready']) {
      await other.post(`/v1/nodes/${nodeId}/${command}`, {}).expect(404);
      await own.post(`/v1/nodes/${nodeId}/${command}`, {}).expect(404);
    }
    expect((await other.get('/v1/jobs').expect(200)).body.items).toEqual([]);
    expect((await own.get('/v1/jobs').expect(200)).body.items).toHaveLength(1);
    await other.get(`/v1/datasets/${to0x(job.dataset.id)}`).expect(404);
    await other.remove(`/v1/datasets/${to0x(job.dataset.id)}`).expect(404);
    for (const path of ['/v1/dead-letters', '/v1/audit/verified']) await other.get(path).expect(403);
    expect((await own.post(`/v1/jobs/${job.jobId}/priority`, { priority: 0 }).expect(403)).body.code).toBe(
      'JOB_PRIORITY',
    );
    const tenants = async (who: KeyName, path: string) =>
      new Set(((await test.as(who).get(path)).body.items as { tenant: string }[]).map(({ tenant }) => tenant));
    expect(await tenants('otherAdmin', '/v1/keys')).toEqual(new Set(['globex']));
    expect([...(await tenants('admin', '/v1/keys'))]).toEqual(expect.arrayContaining(['acme', 'globex', 'host', null]));
    await test.as('client').post(`/v1/jobs/${job.jobId}/pause`, {}).expect(200);
    expect([...(await tenants('tenantAdmin', '/v1/audit?limit=200'))]).toEqual(['acme']);
    await test.as('client').post(`/v1/jobs/${job.jobId}/resume`, {}).expect(200);
  });

  it('W-M7 of a tenant make and revoke keys of that tenant, and none that names an account that is paid', async () => {
    const own = test.as('tenantAdmin');
    const { id, key } = await make('tenantAdmin', { tenant: 'acme', role: 'reviewer' });
    await by(key).get('/v1/jobs').expect(200);
    for (const wanted of [
      { tenant: 'globex', role: 'client' },
      { role: 'admin' },
      { tenant: null, role: 'admin' },
      { tenant: 'acme', role: 'operator', provider: providers.operator },
    ]) {
      expect((await own.post('/v1/keys', wanted).expect(403)).body.code).toBe('ROLE_FORBIDDEN');
    }
    expect((await own.post('/v1/keys', { role: 'client' }).expect(400)).body.code).toBe('REQUEST_MALFORMED');
    await test.as('otherAdmin').post(`/v1/keys/${id}/revoke`, {}).expect(404);
    await own.post('/v1/keys/admin/revoke', {}).expect(404);
    await own.post(`/v1/keys/${id}/revoke`, {}).expect(200);
    await by(key).get('/v1/jobs').expect(401);
  });

  it('W-M7 are of every tenant only without one; the file of first keys can say so of a key that is there', async () => {
    const global = await make('admin', { role: 'admin' });
    expect(global).toMatchObject({ tenant: null });
    await by(global.key).get('/v1/dead-letters').expect(200);
    await manager().update(ApiKey, { id: 'admin' }, { tenant: 'platform' });
    await manager().update(ApiKey, { id: 'tenantAdmin' }, { tenant: 'elsewhere' });
    await test.plane.app.get(ApiKeys).bootstrap();
    expect(await manager().findOneBy(ApiKey, { id: 'admin' })).toMatchObject({ tenant: '' });
    expect(await manager().findOneBy(ApiKey, { id: 'tenantAdmin' })).toMatchObject({ tenant: 'elsewhere' });
    await manager().update(ApiKey, { id: 'tenantAdmin' }, { tenant: 'acme' });
    await test.restart();
  });
});

describe('keys', () => {
  it('W-M7 end when they were made to, over REST, GraphQL and dispatch, and show when they were used', async () => {
    const at = (seconds: number) => new Date(test.clock.now().getTime() + 1000 * seconds).toISOString();
    const wanted = { tenant: 'acme', role: 'client', expiresAt: at(60) };
    const { id, key } = await make('admin', wanted);
    const listed = async () =>
      ((await test.as('admin').get('/v1/keys?limit=200')).body.items as (Made & { lastUsedAt: string | null })[]).find(
        (one) => one.id === id,
      );
    expect(await listed()).toMatchObject({ expiresAt: wanted.expiresAt, lastUsedAt: null });
    await by(key).get('/v1/jobs').expect(200);
    await expect.poll(async () => (await listed())?.lastUsedAt).toBe(test.clock.now().toISOString());
    const operator = await make('admin', {
      tenant: 'host',
      role: 'operator',
      provider: providers.operator,
      expiresAt: at(60),
    });
    const beat = () =>
      codeOf(test.send(pattern.leaseAcquire, { auth: operator.key, nodeId: crypto.randomUUID(), waitMs: 0 }));
    expect(await beat()).toBe('NODE_UNKNOWN');
    test.clock.pass(60);
    expect((await by(key).get('/v1/jobs').expect(401)).body.code).toBe('AUTH_UNKNOWN');
    expect((await by(key).get('/graphql?query=%7B__typename%7D').expect(401)).body.errors[0].extensions.code).toBe(
      'AUTH_UNKNOWN',
    );
    expect(await beat()).toBe('AUTH_UNKNOWN');
    const past = await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'client', expiresAt: at(-1) });
    expect(past.body).toMatchObject({ status: 400, code: 'KEY_EXPIRY' });
  });

  it.each(['<script>', '../x', 'a b', '.', '-a', 'a\u202eb', '', 'x'.repeat(65)])(
    'W-L6 %j is no name of a tenant',
    async (tenant) => {
      const answer = await test.as('admin').post('/v1/keys', { tenant, role: 'client' });
      expect(answer.body).toMatchObject({ code: 'REQUEST_MALFORMED', expected: expect.stringContaining('tenant') });
    },
  );
});

describe('data sets', () => {
  const idOf = (job: Fixture) => to0x(job.dataset.id);

  it('W-M6 are listed page by page, each tenant its own', async () => {
    const jobs = [makeJob(0), makeJob(0), makeJob(0)];
    for (const job of jobs) await upload(test, job);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await test.as('client').get(`/v1/datasets?limit=2${query}`).expect(200);
      expect(body.items.length).toBeLessThanOrEqual(2);
      for (const item of body.items as { id: string; shards: number; uploaded: number; bytes: number }[]) {
        seen.push(item.id);
        expect(item.uploaded).toBe(item.shards);
        expect(item.bytes).toBeGreaterThan(0);
      }
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(expect.arrayContaining(jobs.map(idOf)));
    expect(new Set(seen).size).toBe(seen.length);
    expect((await test.as('otherClient').get('/v1/datasets').expect(200)).body.items).toEqual([]);
    expect((await test.as('otherAdmin').get('/v1/datasets').expect(200)).body.items).toEqual([]);
    await test.as('client').get('/v1/datasets?cursor=xyz').expect(400);
  });

  it('W-M6 are deleted with their shards, which frees the quota, says who, and leaves nothing to train on', async () => {
    const tight = await startTestPlane({ clientDatasetBytesMax: 150 });
    try {
      const client = tight.as('client');
      const jobs = Array.from({ length: 3 }, () => makeJob(tight.clock.at()));
      const stored: Fixture[] = [];
      let refused: Fixture | null = null;
      for (const job of jobs) {
        const answer = await client.post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) });
        if (answer.status === 201) stored.push(job);
        else {
          expect(answer.body.code).toBe('DATASET_QUOTA');
          refused = job;
          break;
        }
      }
      expect(refused).not.toBeNull();
      const [first] = stored as [Fixture];
      await upload(tight, first);
      const blobs = tight.plane.app.get(BlobStore);
      const names = first.dataset.shards.map(({ sha256 }) => to0x(sha256));
      for (const name of names) expect(await blobs.has(name)).toBe(true);
      await tight
        .as('otherClient')
        .remove(`/v1/datasets/${idOf(first)}`)
        .expect(404);
      await client.remove(`/v1/datasets/${idOf(first)}`).expect(204);
      for (const name of names) await expect.poll(() => blobs.has(name)).toBe(false);
      await client.get(`/v1/datasets/${idOf(first)}`).expect(404);
      await client.get(`/v1/datasets/${idOf(first)}/shards/0`).expect(404);
      await client.remove(`/v1/datasets/${idOf(first)}`).expect(404);
      expect((await client.post('/v1/jobs', first.body)).body.code).toBe('JOB_DATASET_UNKNOWN');
      await client.post('/v1/datasets', { manifest: datasetManifestJson(refused!.dataset) }).expect(201);
      const entry = await tight.plane.database.dataSource.manager.findOneBy(AuditEntry, { action: 'dataset.delete' });
      expect(entry).toMatchObject({ actor: 'client', tenant: 'acme', subject: idOf(first) });
    } finally {
      await tight.stop();
    }
  });

  it('W-M6 stay while a job needs them; an ended job keeps the manifest, and cannot be tried again without the rest', async () => {
    const client = test.as('client');
    const job = makeJob(test.clock.at());
    await upload(test, job);
    await client.post('/v1/jobs', job.body).expect(201);
    await fund(test, job);
    const used = await client.remove(`/v1/datasets/${idOf(job)}`).expect(409);
    expect(used.body).toMatchObject({ code: 'DATASET_IN_USE', got: expect.stringContaining(job.jobId) });
    await client.post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    await client.remove(`/v1/datasets/${idOf(job)}`).expect(204);
    await client.get(`/v1/jobs/${job.jobId}`).expect(200);
    const [row] = await manager().query('SELECT deleted_at FROM dataset WHERE id = $1', [idOf(job)]);
    expect(row.deleted_at).not.toBeNull();
    await manager().query(`UPDATE job SET state = 'failed' WHERE id = $1`, [job.jobId]);
    expect((await client.post(`/v1/jobs/${job.jobId}/retry`, {}).expect(409)).body.got).toBe('a deleted one');
    // Another replica has not heard of it.
    const stale = makeJob(test.clock.at(), { spec: { dataset: job.spec.dataset } });
    expect((await client.post('/v1/jobs', stale.body)).body.code).toBe('JOB_DATASET_UNKNOWN');
    await test
      .as('otherClient')
      .post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) })
      .expect(409);
    await upload(test, job);
    await client.get(`/v1/datasets/${idOf(job)}`).expect(200);
    await client.post(`/v1/jobs/${job.jobId}/retry`, {}).expect(200);
  });
});

describe('the audit log', () => {
  const chain = () => test.plane.app.get(AuditChain);
  const broken = async () => (await test.as('admin').get('/v1/audit/verified')).body;
  beforeAll(async () => {
    for (let made = 0; made < 6; made += 1) {
      await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201);
    }
  });

  it('A-M7 names in each row the digest of the one before, over what was there before the chain as well', async () => {
    await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201);
    const { rows, head } = await chain().verify();
    expect(rows).toBeGreaterThan(5);
    expect(head).toMatch(/^0x[0-9a-f]{64}$/);
    const [row] = (await test.as('admin').get('/v1/audit?limit=1').expect(200)).body.items;
    expect(row).toMatchObject({ n: String(rows), prev: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(await broken()).toMatchObject({ rows: expect.any(Number), rowsBefore: 0, head: expect.any(String) });
  });

  const harms: readonly (readonly [string, string, string])[] = [
    [
      'a row in the middle was changed',
      `UPDATE audit_log SET actor = 'nobody' WHERE n = 3`,
      `UPDATE audit_log SET actor = k.actor FROM kept k WHERE audit_log.id = k.id`,
    ],
    [
      'the last row was changed',
      `UPDATE audit_log SET code = 'X' WHERE n = (SELECT max(n) FROM audit_log)`,
      `UPDATE audit_log SET code = k.code FROM kept k WHERE audit_log.id = k.id`,
    ],
    [
      'a row in the middle is missing',
      'DELETE FROM audit_log WHERE n = 4',
      'INSERT INTO audit_log SELECT * FROM kept WHERE n = 4',
    ],
    [
      'the first row is missing',
      'DELETE FROM audit_log WHERE n = 1',
      'INSERT INTO audit_log SELECT * FROM kept WHERE n = 1',
    ],
    [
      'the last row is missing',
      'DELETE FROM audit_log WHERE n = (SELECT max(n) FROM kept)',
      'INSERT INTO audit_log SELECT * FROM kept WHERE n = (SELECT max(n) FROM kept)',
    ],
    [
      'a row was put in',
      `INSERT INTO audit_log (at, tenant, actor, action, subject, n, prev) SELECT at, tenant, actor, 'made.up', subject, n, prev FROM kept WHERE n = 2`,
      `DELETE FROM audit_log WHERE action = 'made.up'`,
    ],
    ...['0', '-7', 'max(n) + 1', 'max(n) + 1000'].map((n) => {
      const put = `INSERT INTO audit_log (at, tenant, actor, action, subject, n, prev) SELECT now(), 'acme', 'x', 'made.up', 'x', ${n}, max(prev) FROM kept`;
      return [`a row was put in as ${n}`, put, `DELETE FROM audit_log WHERE action = 'made.up'`] as const;
    }),
    [
      'a row from before the chain was changed',
      `UPDATE audit_log SET n = NULL, prev = NULL WHERE n = 2`,
      `UPDATE audit_log SET n = k.n, prev = k.prev FROM kept k WHERE audit_log.id = k.id`,
    ],
  ];

  it.each(harms)('A-M7 says so when %s', async (_name, harm, mend) => {
    await chain().verify();
    const { dataSource } = test.plane.database;
    await dataSource.query('CREATE TABLE kept AS SELECT * FROM audit_log WHERE n IS NOT NULL');
    try {
      await dataSource.query(harm);
      expect(await broken()).toMatchObject({ code: 'AUDIT_BROKEN', status: 409 });
    } finally {
      await dataSource.query(mend);
      await dataSource.query('DROP TABLE kept');
    }
    if (!_name.startsWith('a row from before')) expect(await broken()).toMatchObject({ head: expect.any(String) });
  });

  it('A-M7 begins over an old log, and is looked at when the process starts', async () => {
    const old = await startTestPlane();
    try {
      const { dataSource } = old.plane.database;
      await old.plane.app.get(AuditChain).onApplicationShutdown();
      await dataSource.query('TRUNCATE audit_log');
      const row = `(now(), 'acme', 'client', 'job.submit', 'from a release before')`;
      await dataSource.query(`INSERT INTO audit_log (at, tenant, actor, action, subject) VALUES ${row}, ${row}`);
      await dataSource.query(`UPDATE audit_head SET n = 0, digest = NULL, before_id = (SELECT max(id) FROM audit_log)`);
      await old.as('admin').post('/v1/keys', { tenant: 'acme', role: 'reviewer' }).expect(201);
      expect(await old.plane.app.get(AuditChain).verify()).toMatchObject({ rows: 1, rowsBefore: 2 });
      await dataSource.query(`DELETE FROM audit_log WHERE id = (SELECT min(id) FROM audit_log)`);
      await old.restart();
      await expect.poll(() => old.logs.join()).toContain('the audit log was not found whole');
    } finally {
      await old.stop();
    }
  });
});

describe('reverse proxies', () => {
  const from = (peer: string, forwarded?: string) =>
    ({
      socket: { remoteAddress: peer },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    }) as never;

  it('W-M8 are believed as far as the setting says, and nobody is by default', () => {
    const said = '6.6.6.6, 203.0.113.9, 10.0.0.2';
    expect(clientAddress(from('10.0.0.1', said), readTrustProxy(undefined))).toBe('10.0.0.1');
    expect(clientAddress(from('10.0.0.1', said), readTrustProxy('1'))).toBe('10.0.0.2');
    expect(clientAddress(from('10.0.0.1', said), readTrustProxy('2'))).toBe('203.0.113.9');
    expect(clientAddress(from('10.0.0.1', said), readTrustProxy('10.0.0.0/8'))).toBe('203.0.113.9');
    expect(clientAddress(from('::ffff:10.0.0.1', said), readTrustProxy('10.0.0.0/8, fd00::/8'))).toBe('203.0.113.9');
    expect(clientAddress(from('8.8.8.8', said), readTrustProxy('10.0.0.0/8'))).toBe('8.8.8.8');
    expect(clientAddress(from('10.0.0.1', 'rubbish'), readTrustProxy('1'))).toBe('10.0.0.1');
    expect(clientAddress(from('10.0.0.1'), readTrustProxy('1'))).toBe('10.0.0.1');
    for (const bad of ['17', 'x', '10.0.0.0/33', '10.0.0.1,', '-1']) {
      expect(() => readTrustProxy(bad), bad).toThrow(expect.objectContaining({ code: 'CONFIG_TRUST_PROXY' }));
    }
  });

  it('W-M8 each client has a rate of its own behind one, and one that lies about itself has not', async () => {
    const behind = await startTestPlane(
      { addressRequestsPerMinute: 3, trustProxy: readTrustProxy('1') },
      { clock: new StillClock() },
    );
    try {
      const ask = async (forwarded: string) =>
        (await behind.as('client').get('/v1/jobs').set('x-forwarded-for', forwarded)).status;
      const all = async (make: (at: number) => string) => {
        const statuses = [];
        for (let at = 0; at < 4; at += 1) statuses.push(await ask(make(at)));
        return statuses;
      };
      expect(await all(() => '203.0.113.1')).toEqual([200, 200, 200, 429]);
      expect(await all(() => '203.0.113.2')).toEqual([200, 200, 200, 429]);
      expect(await all((at) => `198.51.100.${at}, 203.0.113.3`)).toEqual([200, 200, 200, 429]);
    } finally {
      await behind.stop();
    }
  });
});

it('W-M7 no key stands anywhere in what the tests of this file had logged', () => {
  for (const key of Object.values(keys)) expect(test.logs.join()).not.toContain(key.replace(/^vt_[^_]+_/, ''));
});

describe('limits of a tenant', () => {
  const limit = (who: KeyName, tenant: string, wanted: object) =>
    test.as(who).post(`/v1/tenants/${tenant}/limits`, wanted);

  it('are set by an administrator of every tenant, and hold from the next job and data set on', async () => {
    await limit('admin', 'globex', { jobsWaitingMax: 0, datasetBytesMax: 1 }).expect(200);
    const job = makeJob(test.clock.at());
    const { body } = await test
      .as('otherClient')
      .post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) })
      .expect(413);
    expect(body).toMatchObject({ code: 'DATASET_QUOTA', expected: 'data sets of at most 1 bytes of one tenant' });
    const seen = (await test.as('otherAdmin').get('/v1/tenants').expect(200)).body.items;
    expect(seen).toMatchObject([{ tenant: 'globex', jobsWaitingMax: 0, datasetBytesMax: 1, ownLimits: true }]);
    const reset = (await limit('admin', 'globex', {}).expect(200)).body;
    expect(reset).toMatchObject({ jobsWaitingMax: 20_000, jobsUnderWayMax: 2000, ownLimits: false });
  });

  it('are nobody else’s to set, and of no tenant that is not there', async () => {
    expect((await limit('tenantAdmin', 'acme', { jobsWaitingMax: 9 }).expect(403)).body.code).toBe('ROLE_FORBIDDEN');
    await limit('client', 'acme', {}).expect(403);
    expect((await limit('admin', 'nobody', {}).expect(404)).body.code).toBe('TENANT_UNKNOWN');
    expect((await limit('admin', 'acme', { jobsWaitingMax: -1 }).expect(400)).body.code).toBe('REQUEST_MALFORMED');
    const all = (await test.as('admin').get('/v1/tenants').expect(200)).body.items as { tenant: string }[];
    expect(all.map(({ tenant }) => tenant)).toEqual(expect.arrayContaining(['acme', 'globex', 'host', 'rival']));
    expect(all.map(({ tenant }) => tenant)).not.toContain('');
  });

  it('bound jobs that wait and jobs under way', async () => {
    const nodeId = await register(test, 'limited');
    const job = makeJob(test.clock.at());
    await upload(test, job);
    await limit('admin', 'acme', { jobsWaitingMax: 0 }).expect(200);
    test.clock.pass(2);
    expect((await test.as('client').post('/v1/jobs', job.body).expect(429)).body.code).toBe('QUOTA_JOBS');
    await limit('admin', 'acme', { jobsUnderWayMax: 1 }).expect(200);
    test.clock.pass(2);
    await test.as('client').post('/v1/jobs', job.body).expect(201);
    await fund(test, job);
    const another = await submitFunded(test);
    const ask = () => test.send<{ jobId?: string } | null>(pattern.leaseAcquire, { nodeId, waitMs: 0 });
    expect(await ask()).not.toBeNull();
    test.clock.pass(2);
    expect(await ask()).toBeNull();
    await limit('admin', 'acme', {}).expect(200);
    test.clock.pass(2);
    expect(await ask()).not.toBeNull();
    for (const { jobId } of [job, another]) await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
  });
});

describe('scopes of a key', () => {
  const with_ = (key: string) => (path: string, body: object) =>
    request(test.plane.app.getHttpServer())
      .post(path)
      .set({ authorization: `Bearer ${key}`, 'idempotency-key': `scope-${path}-${Math.random()}` })
      .send(body);

  it('bound what it does to a part of what its role may, over REST, GraphQL and dispatch', async () => {
    const reads = await make('admin', { tenant: 'acme', role: 'client', scopes: ['read'] });
    await by(reads.key).get('/v1/jobs').expect(200);
    const body = { url: 'https://hooks.test/x' };
    expect((await with_(reads.key)('/v1/webhooks', body).expect(403)).body.code).toBe('SCOPE_FORBIDDEN');
    const ask = async (query: string) => JSON.stringify((await with_(reads.key)('/graphql', { query })).body);
    expect(await ask('{ jobPage { nextCursor } }')).not.toContain('errors');
    expect(await ask(`mutation { removeDataset(id: "0x${'00'.repeat(32)}") }`)).toContain('SCOPE_FORBIDDEN');
    const writes = await make('admin', { tenant: 'acme', role: 'client', scopes: ['write'] });
    await by(writes.key).get('/v1/jobs').expect(403);
    await with_(writes.key)('/v1/webhooks', body).expect(201);
    const host = { tenant: 'host', role: 'operator', provider: providers.operator, scopes: ['read'] };
    const node = await make('admin', host);
    const call = test.send(pattern.nodeRegister, {
      auth: node.key,
      name: 'x',
      provider: providers.operator,
      capabilities,
    });
    expect(await codeOf(call)).toBe('SCOPE_FORBIDDEN');
  });

  it('let a key that changes jobs touch no key, over REST or GraphQL', async () => {
    const { key } = await make('admin', { tenant: 'acme', role: 'admin', scopes: ['read', 'write'] });
    const victim = await make('admin', { tenant: 'acme', role: 'client' });
    expect((await with_(key)(`/v1/keys/${victim.id}/revoke`, {}).expect(403)).body.code).toBe('SCOPE_FORBIDDEN');
    const query = `mutation { revokeKey(id: "${victim.id}") { id } }`;
    expect(JSON.stringify((await with_(key)('/graphql', { query })).body)).toContain('SCOPE_FORBIDDEN');
    await by(victim.key).get('/v1/me').expect(200);
    const keeper = await make('admin', { tenant: 'acme', role: 'admin', scopes: ['keys'] });
    expect(JSON.stringify((await with_(keeper.key)('/graphql', { query })).body)).not.toContain('errors');
    await by(victim.key).get('/v1/me').expect(401);
  });

  it('are never widened by a key that makes another', async () => {
    const { key } = await make('admin', { tenant: 'acme', role: 'admin', scopes: ['keys', 'read'] });
    const wanted = { tenant: 'acme', role: 'client' };
    for (const scopes of [undefined, ['write'], ['read', 'write']]) {
      expect((await with_(key)('/v1/keys', { ...wanted, scopes }).expect(403)).body.code).toBe('SCOPE_FORBIDDEN');
    }
    const made = await with_(key)('/v1/keys', { ...wanted, scopes: ['read'] }).expect(201);
    expect(made.body).toMatchObject({ scopes: ['read'] });
    const reads = await make('admin', { tenant: 'acme', role: 'admin', scopes: ['read'] });
    expect((await with_(reads.key)('/v1/keys', { ...wanted, scopes: ['read'] }).expect(403)).body.code).toBe(
      'SCOPE_FORBIDDEN',
    );
    expect((await by(reads.key).get('/v1/me').expect(200)).body.scopes).toEqual(['read']);
  });
});
