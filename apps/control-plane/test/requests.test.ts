/** Idempotency, pagination, limits, and every bad input with its code. */
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x, toBase64 } from '#attestation/base';
import { datasetManifestJson } from '#attestation/records';
import { canonicalManifest, profileManifest } from '#libs/step';
import { limits, pattern } from '#libs/wire';
import { codeOf, keys, startTestPlane, type TestPlane } from './harness.js';
import { groth16Changes, makeJob, manifest, register, sha256, submit, upload } from './job-fixture.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

const problem = async (call: request.Test): Promise<string> => {
  const { status, type, body } = await call;
  expect(type, JSON.stringify(body)).toBe('application/problem+json');
  expect(body.status).toBe(status);
  for (const field of ['type', 'title', 'detail', 'expected', 'got', 'rule', 'action', 'instance']) {
    expect(typeof body[field], field).toBe('string');
  }
  return `${status} ${body.code}`;
};

describe('idempotency', () => {
  it('answers the same to the same, and refuses another body under the same key', async () => {
    const job = makeJob(test.clock.at());
    await upload(test, job);
    const client = test.as('client');
    const first = await client.post('/v1/jobs', job.body, 'key-1').expect(201);
    const again = await client.post('/v1/jobs', job.body, 'key-1').expect(201);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const changed = { ...job.body, brokerUrl: 'http://127.0.0.1:10' };
    expect(await problem(client.post('/v1/jobs', changed, 'key-1'))).toBe('422 IDEMPOTENCY_MISMATCH');
    expect(await problem(client.post(`/v1/jobs/${job.jobId}/cancel`, job.body, 'key-1'))).toBe(
      '422 IDEMPOTENCY_MISMATCH',
    );
    expect(await problem(client.post('/v1/jobs', job.body, 'key-2'))).toBe('409 JOB_DUPLICATE');
    expect(await problem(client.post('/v1/jobs', job.body, 'key-2'))).toBe('409 JOB_DUPLICATE');
  });

  it('is kept apart by tenant', async () => {
    const body = { manifest: datasetManifestJson(makeJob(0).dataset) };
    await test.as('client').post('/v1/datasets', body, 'shared').expect(201);
    const other = { manifest: datasetManifestJson(makeJob(0).dataset) };
    await test.as('otherClient').post('/v1/datasets', other, 'shared').expect(201);
    expect(await problem(test.as('otherClient').post('/v1/datasets', body))).toBe('409 DATASET_DUPLICATE');
  });

  it('is required for every POST', async () => {
    const bare = request(test.plane.app.getHttpServer())
      .post('/v1/datasets')
      .set('authorization', `Bearer ${keys.client}`);
    expect(await problem(bare.send({}))).toBe('400 IDEMPOTENCY_KEY_MISSING');
  });

  it('lets one of many equal requests through', async () => {
    const job = makeJob(test.clock.at());
    await upload(test, job);
    const posts = Array.from({ length: 8 }, () => test.as('client').post('/v1/jobs', job.body, 'same'));
    const statuses = (await Promise.all(posts)).map((response) => response.status);
    expect(statuses).toContain(201);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    const stored = await test.plane.database.dataSource.query('SELECT 1 FROM job WHERE id = $1', [job.jobId]);
    expect(stored).toHaveLength(1);
  });

  it('goes on when the process died between the job and its answer', async () => {
    const job = makeJob(test.clock.at());
    await upload(test, job);
    await test.as('client').post('/v1/jobs', job.body, 'died').expect(201);
    await test.plane.database.dataSource.query(
      `UPDATE idempotency SET status = NULL, answer = NULL WHERE key = 'died'`,
    );
    expect(await problem(test.as('client').post('/v1/jobs', job.body, 'died'))).toBe('409 IDEMPOTENCY_IN_PROGRESS');
    test.clock.pass(61);
    const answer = await test.as('client').post('/v1/jobs', job.body, 'died').expect(201);
    expect(answer.body.id).toBe(job.jobId);
  });
});

describe('pagination', () => {
  it('walks all jobs, newest first, each once', async () => {
    const added = [];
    for (let n = 0; n < 5; n += 1) added.push((await submit(test)).jobId);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await test.as('client').get(`/v1/jobs?limit=2&state=submitted${query}`).expect(200);
      expect(body.items.length).toBeLessThanOrEqual(2);
      seen.push(...body.items.map((item: { id: string }) => item.id));
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.slice(0, 5)).toEqual(added.reverse());
  });

  it('finds jobs by assurance, time, the beginning of an id, and code', async () => {
    const earlier = await submit(test);
    test.clock.pass(60);
    const since = test.clock.now().toISOString();
    const later = await submit(test);
    const found = async (query: string): Promise<string[]> => {
      const { body } = await test.as('client').get(`/v1/jobs?limit=200&${query}`).expect(200);
      const graph = `{ jobPage(limit: 200, ${query.replace(/([a-z]+)=([^&]+)&?/g, '$1: "$2" ')}) { items { id } } }`;
      const { body: same } = await test.as('client').post('/graphql', { query: graph }).expect(200);
      const ids = (items: { id: string }[]): string[] => items.map(({ id }) => id);
      expect(ids(same.data.jobPage.items)).toEqual(ids(body.items));
      return ids(body.items);
    };
    expect(await found(`search=${later.jobId.slice(0, 20)}`)).toEqual([later.jobId]);
    expect(await found(`since=${since}`)).toEqual([later.jobId]);
    const waiting = await found('search=ESCROW_MISSING&assurance=tee');
    expect(waiting).toEqual(expect.arrayContaining([earlier.jobId, later.jobId]));
    expect(await found('search=ESCROW_MISSIN')).toEqual([]);
    expect(await found('assurance=sampled')).toEqual([]);
    const { body } = await test.as('otherClient').get(`/v1/jobs?search=${later.jobId}`).expect(200);
    expect(body.items).toEqual([]);
  });

  it('refuses what is no cursor, limit or state', async () => {
    const client = test.as('client');
    expect(await problem(client.get('/v1/jobs?cursor=xyz'))).toBe('400 CURSOR_MALFORMED');
    const wrongs = [
      'limit=0',
      'limit=201',
      'limit=x',
      'state=unknown',
      'assurance=much',
      'since=yesterday',
      'search=%25',
    ];
    for (const query of wrongs) {
      expect(await problem(client.get(`/v1/jobs?${query}`)), query).toBe('400 REQUEST_MALFORMED');
    }
  });

  it('walks nodes', async () => {
    for (const name of ['a', 'b', 'c']) await register(test, name);
    const first = await test.as('client').get('/v1/nodes?limit=2').expect(200);
    const second = await test.as('client').get(`/v1/nodes?limit=2&cursor=${first.body.nextCursor}`).expect(200);
    expect([...first.body.items, ...second.body.items].map((node: { name: string }) => node.name).sort()).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(second.body.nextCursor).toBeNull();
  });
});

describe('submissions', () => {
  const post = (body: object) => problem(test.as('client').post('/v1/jobs', body));

  it('are refused with the code of what is wrong', async () => {
    const at = test.clock.at();
    const good = makeJob(at);
    await upload(test, good);
    const specOf = (changes: Parameters<typeof makeJob>[1]) => {
      const made = makeJob(at, { ...changes, spec: { dataset: good.spec.dataset, ...changes?.spec } });
      return made.body;
    };
    const text = (value: object) => new TextEncoder().encode(JSON.stringify(value));
    const spec = Buffer.from(good.body.spec, 'base64');
    const proving = { profile: 'chain1', variant: 'joint' as const, planDigest: new Uint8Array(32) };
    const plan = new Uint8Array(32);
    const large = profileManifest('fx1', {
      ...{ dims: [784, 64, 10], batch: 64, e: 8, steps: 6 },
      seed: manifest.seed,
    });
    const cases: [string, object][] = [
      ['400 REQUEST_MALFORMED', { ...good.body, spec: 'not toBase64!' }],
      ['400 REQUEST_MALFORMED', { ...good.body, spec: toBase64(new Uint8Array(limits.specBytesMax + 4)) }],
      ['400 REQUEST_MALFORMED', { ...good.body, brokerUrl: 'file:///etc/passwd' }],
      ['400 REQUEST_MALFORMED', {}],
      ['422 CBOR_TRUNCATED', { ...good.body, spec: toBase64(spec.subarray(0, spec.length - 1)) }],
      ['422 JOB_MANIFEST_CANONICAL', specOf({ manifest: new TextEncoder().encode(JSON.stringify(manifest, null, 1)) })],
      ['422 MANIFEST_JSON', specOf({ manifest: new TextEncoder().encode('{') })],
      ['422 MANIFEST_MISSING_FIELD', specOf({ manifest: text({ fxt: 1 }) })],
      ['422 JOB_POLICY_DIGEST', { ...good.body, policy: toBase64(new Uint8Array(3)) }],
      ['422 JOB_TERMS_SPEC', specOf({ terms: { specDigest: new Uint8Array(32) } })],
      ['422 JOB_TERMS_POLICY', specOf({ terms: { policy: new Uint8Array(32) } })],
      ['422 JOB_TERMS_SEGMENTS', specOf({ terms: { segments: 4 } })],
      ['422 JOB_ASSURANCE', specOf({ spec: { assurance: 'zk' } })],
      ['422 JOB_ASSURANCE', specOf({ terms: { price: 10n ** 24n } })],
      ['422 JOB_SEGMENT', specOf({ spec: { assurance: 'zk', scheme: 'fxt-zk/1', proving } })],
      ['422 JOB_PLAN', specOf({ spec: { assurance: 'zk', scheme: 'fxt-zk/1', proving, segmentSteps: 1 } })],
      ['422 JOB_SCHEME', specOf(groth16Changes(plan, { assurance: 'tee' }))],
      ['422 JOB_SCHEME', specOf(groth16Changes(plan, { assurance: 'tee+zk' }))],
      ['422 JOB_SCHEME', specOf(groth16Changes(plan, { assurance: 'sampled' }))],
      ['422 JOB_SEGMENT', specOf(groth16Changes(plan, { segmentSteps: 2 }))],
      ['422 GROTH16_SHAPE', specOf({ ...groth16Changes(plan), manifest: canonicalManifest(large) })],
      ['422 JOB_DATASET_MISMATCH', specOf({ ...groth16Changes(plan), dataset: {} })],
      ['422 JOB_SETTLEMENT_CONTRACT', specOf({ spec: { settlement: { chainId: 1, contract: new Uint8Array(20) } } })],
      ['422 JOB_DEADLINE_PAST', specOf({ terms: { acceptBy: at - 1 } })],
      ['422 JOB_DATASET_UNKNOWN', makeJob(at).body],
      ['422 JOB_DATASET_MISMATCH', specOf({ spec: { dataset: { ...good.spec.dataset, root: new Uint8Array(32) } } })],
      ['422 JOB_DATASET_MISMATCH', specOf({ manifest: canonicalManifest({ ...manifest, batch: 8 }) })],
    ];
    for (const [expected, body] of cases)
      expect((await post(body)).replace(/CBOR_\w+/, 'CBOR_TRUNCATED'), expected).toBe(expected);
    await test.as('client').post('/v1/jobs', good.body).expect(201);
  });

  it('name the range rule that a manifest breaks', async () => {
    const wide = canonicalManifest({ ...manifest, e: manifest.e.map(() => 40) });
    const { body, status } = await test
      .as('client')
      .post('/v1/jobs', makeJob(test.clock.at(), { manifest: wide }).body);
    expect(status).toBe(422);
    expect(body.rule).toMatch(/libs\/step\/SPEC\.md §10/);
  });

  it('wait for every shard', async () => {
    const job = makeJob(test.clock.at());
    await test
      .as('client')
      .post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) })
      .expect(201);
    expect(await post(job.body)).toBe('422 JOB_DATASET_INCOMPLETE');
  });

  it('of terms with unknown, missing or wrong members are refused', async () => {
    const job = makeJob(test.clock.at());
    await upload(test, job);
    const { price: _price, ...missing } = job.body.terms;
    for (const terms of [{ ...job.body.terms, extra: 1 }, missing, { ...job.body.terms, price: '-1' }]) {
      expect(await post({ ...job.body, terms })).toBe('422 TERMS_FIELD');
    }
  });
});

describe('uploads', () => {
  it('of shards are checked by digest and length, and repeatable', async () => {
    const job = makeJob(test.clock.at());
    const client = test.as('client');
    await client.post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) }).expect(201);
    const path = `/v1/datasets/${to0x(job.dataset.id)}/shards`;
    const [first, second] = job.shards;
    const flipped = Uint8Array.from(first!, (byte, index) => (index === 5 ? byte ^ 1 : byte));
    expect(await problem(client.put(`${path}/0`, flipped))).toBe('422 SHARD_DIGEST');
    expect(await problem(client.put(`${path}/0`, first!.subarray(1)))).toBe('422 SHARD_DIGEST');
    expect(await problem(client.put(`${path}/0`, second!))).toBe('422 SHARD_DIGEST');
    expect(await problem(client.put(`${path}/2`, first!))).toBe('404 SHARD_UNKNOWN');
    await client.put(`${path}/0`, first!).expect(204);
    await client.put(`${path}/0`, first!).expect(204);
    const { body } = await client.get(`${path}/0`).expect(200);
    expect(to0x(sha256(body as Buffer))).toBe(to0x(sha256(first!)));
    const { body: view } = await client.get(`/v1/datasets/${to0x(job.dataset.id)}`).expect(200);
    expect(view.shards.map((shard: { uploaded: boolean }) => shard.uploaded)).toEqual([true, false]);
  });

  it('larger than the limit are refused before and while they are read', async () => {
    const digest = `0x${'00'.repeat(32)}`;
    const server = test.plane.app.getHttpServer();
    const put = () =>
      request(server)
        .put(`/v1/blobs/${digest}`)
        .set('authorization', `Bearer ${keys.operator}`)
        .set('content-type', 'application/octet-stream');
    expect(await problem(put().send(Buffer.alloc(limits.blobBytesMax + 1)))).toBe('413 BODY_OVERSIZE');
    expect(await problem(put().set('content-type', 'text/plain').send('x'))).toBe('415 MEDIA_TYPE');
  });

  it('of blobs are checked by digest', async () => {
    const operator = test.as('operator');
    const bytes = new TextEncoder().encode('test ciphertext');
    expect(await problem(operator.put(`/v1/blobs/0x${'00'.repeat(32)}`, bytes))).toBe('422 BLOB_DIGEST');
    const path = `/v1/blobs/${to0x(sha256(bytes))}`;
    expect(await problem(operator.get(path))).toBe('404 BLOB_UNKNOWN');
    await operator.put(path, bytes).expect(204);
    await operator.get(path).expect(200);
  });
});

describe('requests', () => {
  const raw = (body: string, type = 'application/json') =>
    request(test.plane.app.getHttpServer())
      .post('/v1/jobs')
      .set('authorization', `Bearer ${keys.client}`)
      .set('idempotency-key', `raw-${Math.random()}`)
      .set('content-type', type)
      .send(body);

  it('that are malformed are refused, each with its code', async () => {
    expect(await problem(raw('{'))).toBe('400 JSON_MALFORMED');
    expect(await problem(raw('[1]'))).toBe('400 REQUEST_MALFORMED');
    expect(await problem(raw('"x"'))).toBe('400 JSON_MALFORMED');
    expect(await problem(raw('['.repeat(100_000) + ']'.repeat(100_000)))).toBe('400 JSON_DEPTH');
    expect(await problem(raw('x', 'text/plain'))).toBe('400 REQUEST_MALFORMED');
    expect(await problem(raw(`"${'x'.repeat(5 * 1024 * 1024)}"`))).toBe('413 BODY_OVERSIZE');
    expect(await problem(raw('{}', 'application/json; charset=latin1'))).toBe('415 MEDIA_TYPE');
    expect(await problem(test.as('client').get('/v1/nothing'))).toBe('404 ROUTE_UNKNOWN');
    expect(await problem(test.as('client').get('/v1/jobs/0xzz'))).toBe('400 REQUEST_MALFORMED');
    expect(await problem(test.as('client').get('/v1/jobs/%ff'))).toBe('400 REQUEST_MALFORMED');
    const deep = { manifest: { a: JSON.parse('['.repeat(20) + ']'.repeat(20)) as unknown } };
    expect(await problem(test.as('client').post('/v1/datasets', deep))).toBe('422 DATASET_MANIFEST');
  });

  it('that are refused name the part, what came, and what to do', async () => {
    const [client, admin] = [test.as('client'), test.as('admin')];
    const bodyOf = async (sent: request.Test) => (await sent).body as Record<'expected' | 'got' | 'action', string>;
    expect(await bodyOf(client.get('/v1/jobs/0xdeadbeef'))).toMatchObject({
      expected: 'id: 0x and 64 lower-case hexadecimal digits',
      got: '"0xdeadbeef"',
    });
    expect(await bodyOf(test.as('operator').get('/v1/nodes/nope'))).toMatchObject({
      expected: 'id: Invalid UUID',
      got: '"nope"',
    });
    expect(await bodyOf(admin.post('/v1/keys', { tenant: 'acme', role: 'operator' }))).toMatchObject({
      expected: expect.stringContaining('a provider for the role operator') as string,
      got: 'an object',
    });
    const secretive = { name: 'x', url: 'not a URL', secret: { apiKey: 'hidden' } };
    expect(JSON.stringify(await bodyOf(client.post('/v1/webhooks', secretive)))).not.toContain('hidden');
    for (const refused of [
      raw('{'),
      raw('x', 'application/json; charset=latin1'),
      client.get('/v1/nothing'),
      client.post('/v1/webhooks', { url: 'http://user:pass@127.0.0.1/' }),
    ]) {
      const { action } = await bodyOf(refused);
      expect(action).not.toBe('');
    }
  });

  it('with NUL and halves of surrogate pairs in them are refused, and the refusal is kept', async () => {
    const client = test.as('client');
    for (const odd of ['\0', '\ud800']) {
      const { id: _id, ...rest } = datasetManifestJson(makeJob(0).dataset) as Record<string, unknown>;
      const manifest = { ...rest, id: `0x${odd}` };
      const key = `odd-${odd.charCodeAt(0)}`;
      const once = await problem(client.post('/v1/datasets', { manifest }, key));
      expect(once).toMatch(/^4\d\d MESSAGE_SHAPE$/);
      expect(await problem(client.post('/v1/datasets', { manifest }, key))).toBe(once);
      expect(await problem(client.post('/v1/webhooks', { url: `http://127.0.0.1:9/${odd}` }))).toBe(
        '400 REQUEST_MALFORMED',
      );
      const job = makeJob(test.clock.at());
      const brokerUrl = `${job.body.brokerUrl}/${odd}`;
      expect(await problem(client.post('/v1/jobs', { ...job.body, brokerUrl }))).toBe('400 REQUEST_MALFORMED');
    }
  });

  it('never leave a secret in the log', async () => {
    await test.as('client').get('/v1/jobs').expect(200);
    await codeOf(test.send(pattern.leaseAcquire, { nodeId: 'x', waitMs: 0 }));
    const all = test.logs.join('');
    expect(all.length).toBeGreaterThan(1000);
    for (const key of Object.values(keys)) expect(all).not.toContain(key.replace(/^vt_[^_]+_/, ''));
  });
});
