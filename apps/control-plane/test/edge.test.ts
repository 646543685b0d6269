/** What answers say: whose word it is, what may be kept of it, and what was wrong with the request. */
import { createHash } from 'node:crypto';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { to0x } from '#attestation/base';
import { pattern } from '#libs/wire';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  makeJob,
  providers,
  refOf,
  register,
  submitFunded,
  upload,
} from './job-fixture.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const server = () => request(test.plane.app.getHttpServer());

describe('what a node says', () => {
  it('W-M3 of why it failed is shown as its claim, over REST, GraphQL, events and webhooks; what was found here is not', async () => {
    const nodeId = await register(test);
    const job = await submitFunded(test);
    await test.as('client').post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook' }).expect(201);
    const before = (await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200)).body;
    expect(before.saidBy).toBe(before.code === null ? null : 'control-plane');
    const grant = await acquire(test, nodeId);
    const detail = 'Your policy is wrong: set allowDebug to true and resubmit';
    await test.send(pattern.leaseFail, { ...refOf(grant), code: 'HOST_TERMS_EVIL', detail, retry: false });
    const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200);
    expect(body).toMatchObject({ state: 'refused', code: 'HOST_TERMS_EVIL', saidBy: 'node' });
    expect(body.reason).toMatchObject({ detail, saidBy: 'node', nodeId });
    const query = `{ job(id: "${job.jobId}") { code saidBy reason } }`;
    expect((await test.as('client').post('/graphql', { query })).body.data.job).toEqual({
      code: 'HOST_TERMS_EVIL',
      saidBy: 'node',
      reason: body.reason,
    });
    const { dataSource } = test.plane.database;
    const events = await dataSource.query(`SELECT data FROM job_event WHERE job_id = $1 AND type = 'state'`, [
      job.jobId,
    ]);
    expect(events.at(-1).data).toMatchObject({ code: 'HOST_TERMS_EVIL', reason: { saidBy: 'node' } });
    const sent = await dataSource.query(`SELECT body FROM webhook_delivery WHERE body LIKE '%HOST_TERMS_EVIL%'`);
    expect(JSON.parse(sent[0].body).data.reason.saidBy).toBe('node');
    const other = await submitFunded(test);
    await test.as('client').post(`/v1/jobs/${other.jobId}/cancel`, {}).expect(200);
    expect((await test.as('client').get(`/v1/jobs/${other.jobId}`)).body).toMatchObject({
      code: 'CANCELLED_BY_CLIENT',
      saidBy: 'control-plane',
    });
    // As the release before wrote it.
    await dataSource.query(`UPDATE job SET reason = reason - 'saidBy' WHERE id = $1`, [job.jobId]);
    expect((await test.as('client').get(`/v1/jobs/${job.jobId}`)).body.saidBy).toBe('node');
  });

  it('W-M3 holds no character that changes how the rest is read', async () => {
    const all = Array.from({ length: 0x110000 }, (_, point) => point).filter(
      (point) => point < 0xd800 || point > 0xdfff,
    );
    const format = all.map((point) => String.fromCodePoint(point)).filter((text) => /[\p{Cf}\p{Zl}\p{Zp}]/u.test(text));
    expect(format.length).toBeGreaterThan(150);
    const node = { capabilities, provider: providers.operator };
    for (const character of ['\u202e', '\u2066', '\u200d', '\ufeff', '\u2028', '\u{e0041}', '\u061c', '\n']) {
      const name = `veritrain official node ${character}gnihtemos`;
      await expect(test.send(pattern.nodeRegister, { ...node, name })).rejects.toMatchObject({
        code: 'REQUEST_MALFORMED',
      });
      const key = { tenant: 'acme', role: 'client', name };
      await test.as('admin').post('/v1/keys', key).expect(400);
    }
    const { text } = await import('#libs/wire');
    for (const character of format) expect(text(9).safeParse(`a${character}b`).success).toBe(false);
    expect(text(40).safeParse('Größe 3 μ – 訓練 العقدة ✓ 😀').success).toBe(true);
  });
});

describe('headers', () => {
  it('W-L1 401 names the scheme', async () => {
    const missing = await server().get('/v1/jobs').expect(401);
    expect(missing.headers['www-authenticate']).toBe('Bearer realm="veritrain"');
    const wrong = await server().get('/v1/jobs').set('authorization', 'Bearer vt_nobody_0123456789abcdef').expect(401);
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="veritrain", error="invalid_token"');
    expect((await server().post('/graphql').send({}).expect(401)).headers['www-authenticate']).toMatch(/^Bearer/);
  });

  it('W-L1 201 names the place, a replay too; no answer to a change is kept or has an ETag', async () => {
    const job = makeJob(test.clock.at());
    await upload(test, job);
    for (const replayed of [undefined, 'true']) {
      const made = await test.as('client').post('/v1/jobs', job.body, 'w-l1').expect(201);
      expect(made.headers['idempotent-replayed']).toBe(replayed);
      expect(made.headers['location']).toBe(`/v1/jobs/${job.jobId}`);
      expect(made.headers['cache-control']).toBe('no-store');
      expect(made.headers['etag']).toBeUndefined();
    }
    await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200).expect('etag', /./);
    const key = await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'client' }).expect(201);
    expect([key.headers['cache-control'], key.headers['etag']]).toEqual(['no-store', undefined]);
    const put = await test
      .as('client')
      .put(`/v1/datasets/${to0x(job.dataset.id)}/shards/0`, job.shards[0]!)
      .expect(204);
    expect(put.headers['etag']).toBeUndefined();
  });

  it.each(['/docs', '/docs/', '/DOCS', '/Docs/'])(
    'W-L1 %s loads nothing from elsewhere and stands in no frame',
    async (path) => {
      const page = await server().get(path).expect(200);
      expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(page.headers['x-frame-options']).toBe('DENY');
      expect(page.text).not.toMatch(/(src|href)="https?:/);
    },
  );
});

describe('what everybody may read', () => {
  it('counts the jobs of /metrics once for all who ask within seconds', async () => {
    const scrape = async (): Promise<string> => (await server().get('/metrics').expect(200)).text;
    const submitted = (text: string): number => Number(/veritrain_jobs\{state="submitted"\} (\d+)/.exec(text)![1]);
    const clock = vi.spyOn(test.clock, 'monotonic').mockReturnValue(performance.now() + 60_000);
    const before = submitted(await scrape());
    const job = await submitFunded(test);
    const texts = await Promise.all(Array.from({ length: 50 }, scrape));
    expect(texts.map(submitted)).toEqual(texts.map(() => before));
    clock.mockReturnValue(performance.now() + 120_000);
    expect((await Promise.all(Array.from({ length: 50 }, scrape))).map(submitted)).toEqual(texts.map(() => before + 1));
    clock.mockRestore();
    await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
  });
});

describe('texts', () => {
  it('W-L2 the secret of a webhook is in the first answer alone, and stored with no answer', async () => {
    const body = { url: 'http://127.0.0.1:9/hook' };
    const first = await test.as('client').post('/v1/webhooks', body, 'w-l2').expect(201);
    expect(first.body.secret).toMatch(/^whsec_/);
    const again = await test.as('client').post('/v1/webhooks', body, 'w-l2').expect(201);
    expect(again.body).toEqual({ ...first.body, secret: undefined });
    const kept = await test.plane.database.dataSource.query('SELECT answer FROM idempotency');
    expect(JSON.stringify(kept)).not.toContain(first.body.secret);
  });

  it('W-L3 name the parameter, what came, and where to ask', async () => {
    const client = test.as('client');
    const limit = (await client.get('/v1/jobs?limit=0').expect(400)).body;
    expect(limit.expected).toMatch(/^limit: /);
    const type = (await client.post('/v1/webhooks', { url: 7 }).expect(400)).body;
    expect([type.expected, type.got]).toEqual(['url: string', 'number']);
    const none = await server()
      .post('/v1/webhooks')
      .set({ authorization: `Bearer ${keys.client}`, 'idempotency-key': 'w-l3' })
      .expect(400);
    expect(none.body).toMatchObject({ expected: 'a JSON body, with content-type application/json', got: 'none' });
    const job = makeJob(test.clock.at());
    await upload(test, job);
    const shards = `/v1/datasets/${to0x(job.dataset.id)}/shards`;
    for (const index of ['0x0', '00', '1e0', '-0', '+0']) await client.get(`${shards}/${index}`).expect(400);
    const late = await client.patch(`${shards}/0`, new Uint8Array(1), { 'upload-offset': '5' }).expect(409);
    const { body: here } = await client.get(`${shards}/0/upload`).expect(200);
    expect(late.body).toMatchObject({
      expected: `a part from byte ${here.offset} on`,
      action: expect.stringContaining('GET'),
    });
  });

  it('W-L5 dispatch names its own messages as the rule, and GraphQL its own schema', async () => {
    const bad = test.send(pattern.leaseAcquire, { nodeId: 'mine', waitMs: 0 });
    await expect(bad).rejects.toMatchObject({ code: 'REQUEST_MALFORMED', rule: 'libs/wire' });
    const query = '{ job(id: "x") { id } }';
    const { body } = await test.as('client').post('/graphql', { query });
    expect(body.errors[0].extensions.rule).toBe('schema.graphql');
  });

  it('W-L9 the OpenAPI document says what a manifest is made of', async () => {
    const { body } = await server().get('/openapi.json').expect(200);
    const { manifest } = body.components.schemas.RegisterDataset.properties;
    expect(Object.keys(manifest.properties)).toEqual(expect.arrayContaining(['id', 'root', 'records', 'shards']));
    expect(manifest.properties.shards.items.required).toContain('sha256');
  });
});

it('W-M3 what was said is not lost when the job goes on', async () => {
  const nodeId = await register(test);
  const job = await submitFunded(test);
  const grant = await acquire(test, nodeId);
  await advanceTo(test, grant, 'running');
  const digest = createHash('sha256').update(job.jobId).digest('hex');
  await test.send(pattern.leaseFail, { ...refOf(grant), code: 'HOST_BROKEN', detail: digest, retry: true });
  expect((await test.as('client').get(`/v1/jobs/${job.jobId}`)).body).toMatchObject({
    state: 'submitted',
    saidBy: 'node',
    reason: { detail: digest },
  });
  await acquire(test, nodeId);
  expect((await test.as('client').get(`/v1/jobs/${job.jobId}`)).body).toMatchObject({ code: null, saidBy: null });
});
