/** What preflights found, as operators post it: kept for their own nodes, so much and no more, over REST and GraphQL. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodePreflight } from '#libs/persistence';
import { preflightLimits, type PreflightReport } from '#libs/wire';
import { preflightsMax } from '../src/nodes/preflights.js';
import { startTestPlane, type KeyName, type TestPlane } from './harness.js';
import { register } from './job-fixture.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

const missing = {
  name: 'kvm_amd sev_snp',
  state: 'missing',
  found: 'N',
  expected: 'Y',
  action: 'switch SEV-SNP on in the BIOS',
} as const;
const kernel = { name: 'kernel', state: 'ok', found: '6.12', expected: '6.11 or later', action: '' } as const;
const report: PreflightReport = {
  ...{ kind: 'host', simulated: false, at: '2026-01-01T00:00:00Z', policy: null },
  checks: [missing, kernel],
};

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

  const path = (id = nodeId): string => `/v1/nodes/${id}/preflight`;
  const graph = async (who: KeyName, query: string, variables: object) =>
    (await test.as(who).post('/graphql', { query, variables })).body as {
      data: Record<string, unknown> | null;
      errors?: readonly { readonly extensions: { readonly code: string } }[];
    };

  it('are kept as posted, with who posted them and when, and say whether anything is missing', async () => {
    const posted = (await test.as('operator').post(path(), report).expect(201)).body;
    expect(posted).toEqual({
      ...report,
      ...{ id: posted.id, ok: false, postedAt: '2026-01-01T00:00:00.000Z', postedBy: 'operator' },
    });
    const mended = { ...report, checks: [kernel] };
    expect((await test.as('operator').post(path(), mended).expect(201)).body.ok).toBe(true);
    const { body } = await test.as('operator').get(path()).expect(200);
    expect([body[0].ok, body[1]]).toEqual([true, posted]);
    await test.restart();
    expect((await test.as('admin').get(path()).expect(200)).body).toEqual(body);
    const audit = (await test.as('admin').get('/v1/audit?action=node.preflight').expect(200)).body.items;
    expect(audit[0]).toMatchObject({ actor: 'operator', action: 'node.preflight', subject: nodeId });
  });

  it('are of nodes of the operator alone, and of nobody who runs none', async () => {
    const other = await register(test, 'theirs', 'otherOperator');
    expect((await test.as('operator').post(path(other), report).expect(404)).body.code).toBe('NODE_UNKNOWN');
    expect((await test.as('operator').get(path(other)).expect(404)).body.code).toBe('NODE_UNKNOWN');
    for (const who of ['client', 'reviewer', 'admin', 'tenantAdmin'] as const) {
      expect((await test.as(who).post(path(), report).expect(403)).body.code, who).toBe('ROLE_FORBIDDEN');
    }
    expect((await test.as('otherOperator').get(path(other)).expect(200)).body).toEqual([]);
  });

  it('come in under a key once', async () => {
    const before = (await test.as('operator').get(path())).body.length as number;
    const [one, again] = [
      await test.as('operator').post(path(), report, `once-${engine}`).expect(201),
      await test.as('operator').post(path(), report, `once-${engine}`).expect(201),
    ];
    expect(again.body).toEqual(one.body);
    expect((await test.as('operator').get(path())).body).toHaveLength(before + 1);
  });

  it(`are kept ${preflightsMax} to a node, the oldest go first, others' stay`, async () => {
    const another = await register(test, 'another');
    await test.as('operator').post(path(another), report).expect(201);
    const ids: string[] = [];
    for (let n = 0; n < preflightsMax + 3; n += 1) {
      ids.push((await test.as('operator').post(path(), report).expect(201)).body.id as string);
    }
    const { body } = await test.as('operator').get(path()).expect(200);
    expect(body.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3).toReversed());
    const { manager } = test.plane.database.dataSource;
    expect(await manager.countBy(NodePreflight, { nodeId })).toBe(preflightsMax);
    expect(await manager.countBy(NodePreflight, { nodeId: another })).toBe(1);
  });

  it('are refused where they are larger than a preflight is, or hide what they say', async () => {
    const long = 'x'.repeat(preflightLimits.text + 1);
    const wrongs: readonly object[] = [
      { ...report, checks: [] },
      { ...report, checks: Array.from({ length: preflightLimits.checks + 1 }, () => kernel) },
      { ...report, checks: [{ ...kernel, found: long }] },
      { ...report, checks: [{ ...kernel, action: long }] },
      { ...report, checks: [{ ...kernel, name: '' }] },
      { ...report, checks: [{ ...kernel, state: 'fine' }] },
      { ...report, checks: [{ ...kernel, found: 'a\u202Eb' }] },
      { ...report, checks: [{ ...kernel, found: 'a\nb' }] },
      { ...report, kind: 'other' },
      { ...report, at: 'now' },
      { ...report, policy: 'p'.repeat(preflightLimits.name + 1) },
    ];
    for (const wrong of wrongs) {
      const { body } = await test.as('operator').post(path(), wrong).expect(400);
      expect(body.code, JSON.stringify(wrong).slice(0, 200)).toBe('REQUEST_MALFORMED');
    }
    const most = { ...report, checks: Array.from({ length: preflightLimits.checks }, () => missing) };
    await test.as('operator').post(path(), most).expect(201);
    const heavy = {
      ...most,
      checks: most.checks.map((check) => ({ ...check, found: '€'.repeat(preflightLimits.text) })),
    };
    expect((await test.as('operator').post(path(), heavy).expect(413)).body.code).toBe('BODY_OVERSIZE');
  });

  it('are posted and read over GraphQL as over REST', async () => {
    const post = 'mutation ($id: ID!, $report: NewPreflight!) { postPreflight(id: $id, report: $report) { id ok } }';
    const { data } = await graph('operator', post, { id: nodeId, report });
    const { id } = data!['postPreflight'] as { id: string };
    const read =
      'query ($id: ID!) { nodePreflights(id: $id) { id kind ok simulated at policy postedAt postedBy checks { name state found expected action } } }';
    const all = (await graph('operator', read, { id: nodeId })).data!['nodePreflights'];
    expect(all).toEqual((await test.as('operator').get(path())).body);
    expect(all).toMatchObject([{ id }, {}, {}, {}, {}, {}, {}, {}, {}, {}]);
    const wrong = { ...report, checks: [{ ...kernel, found: 'a\u202Eb' }] };
    const refused = await graph('operator', post, { id: nodeId, report: wrong });
    expect(refused.errors![0]!.extensions.code).toBe('REQUEST_MALFORMED');
    const foreign = await graph('otherOperator', post, { id: nodeId, report });
    expect(foreign.errors![0]!.extensions.code).toBe('NODE_UNKNOWN');
  });
});
