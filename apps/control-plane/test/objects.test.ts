/** Ciphertexts in a folder and in an S3-compatible store: whole or not at all, checked both ways, kept while named. */
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import S3rver from 's3rver';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { datasetManifestJson } from '#attestation/records';
import { Job } from '#libs/persistence';
import { createLogger } from '#libs/telemetry';
import { pattern } from '#libs/wire';
import type { Config } from '../src/core/config/config.js';
import { BlobStore } from '../src/core/objects/blob-store.js';
import { cidOf } from '../src/core/objects/cid.js';
import { BlobCollector, graceSeconds } from '../src/core/objects/collector.js';
import { startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  deliveryOf,
  makeJob,
  providers,
  refOf,
  storeBlob,
  submitFunded,
} from './job-fixture.js';

const sha = (bytes: Uint8Array): string => `0x${createHash('sha256').update(bytes).digest('hex')}`;
const uploadOf = (bytes: Uint8Array) => ({ sha256: sha(bytes), bytesMax: 1 << 20, code: 'BLOB_DIGEST' as const });
const logger = createLogger('test', 'silent');

describe.each(['folder', 'S3'] as const)('%s', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-objects-'));
  let server: S3rver | null = null;
  let blobs: BlobStore;
  beforeAll(async () => {
    let s3: Config['s3'] = null;
    if (kind === 'S3') {
      mkdirSync(join(folder, 's3'));
      server = new S3rver({
        port: 0,
        silent: true,
        directory: join(folder, 's3'),
        configureBuckets: [{ name: 'test', configs: [] }],
      });
      const { port } = await server.run();
      // The key pair that the test server knows.
      s3 = {
        url: `http://127.0.0.1:${port}/test/blobs`,
        region: 'us-east-1',
        accessKeyId: 'S3RVER',
        secretAccessKey: 'S3RVER',
      };
    }
    blobs = new BlobStore({ dataDirectory: folder, s3 } as Config, logger);
  });
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  const put = (bytes: Uint8Array) => blobs.put(Readable.from([bytes]), uploadOf(bytes));

  it('gives back what it was given, under its digest', async () => {
    const bytes = randomBytes(100_000);
    expect(await blobs.has(sha(bytes))).toBe(false);
    expect(await put(bytes)).toBe(bytes.length);
    expect(await buffer(await blobs.open(sha(bytes)))).toEqual(bytes);
    await expect(blobs.open(sha(randomBytes(8)))).rejects.toMatchObject({ code: 'BLOB_UNKNOWN' });
    const found = [];
    for await (const object of blobs.objects.list()) found.push(object);
    expect(found).toMatchObject([{ sha256: sha(bytes), bytes: bytes.length }]);
    await blobs.objects.remove(sha(bytes));
    expect(await blobs.has(sha(bytes))).toBe(false);
  });

  it('gives a range, and the length', async () => {
    const bytes = randomBytes(1000);
    await put(bytes);
    expect(await blobs.size(sha(bytes))).toBe(1000);
    expect(await buffer(await blobs.openPart(sha(bytes), { from: 10, to: 19 }))).toEqual(bytes.subarray(10, 20));
    await expect(blobs.size(sha(randomBytes(8)))).rejects.toMatchObject({ code: 'BLOB_UNKNOWN' });
    await expect(blobs.openPart(sha(randomBytes(8)), { from: 0, to: 1 })).rejects.toMatchObject({
      code: 'BLOB_UNKNOWN',
    });
    await blobs.objects.remove(sha(bytes));
  });

  it('keeps nothing of another digest, of too many bytes, or of a broken connection', async () => {
    const bytes = randomBytes(100);
    const wrong = blobs.put(Readable.from([randomBytes(100)]), uploadOf(bytes));
    await expect(wrong).rejects.toMatchObject({ code: 'BLOB_DIGEST' });
    const long = blobs.put(Readable.from([bytes]), { ...uploadOf(bytes), bytesMax: 99 });
    await expect(long).rejects.toMatchObject({ code: 'BODY_OVERSIZE' });
    const broken = Readable.from(
      (function* () {
        yield bytes.subarray(0, 50);
        throw new Error('connection lost');
      })(),
    );
    await expect(blobs.put(broken, uploadOf(bytes))).rejects.toThrow('connection lost');
    expect(await blobs.has(sha(bytes))).toBe(false);
    expect(readdirSync(blobs.drafts)).toEqual([]);
  });

  it('takes an upload in parts, goes on after a broken one, and drops a wrong whole', async () => {
    const bytes = randomBytes(10_000);
    const upload = { ...uploadOf(bytes), bytes: bytes.length };
    const part = (from: number, to: number, of: Uint8Array = bytes) =>
      blobs.putPart('draft', from, Readable.from([of.subarray(from, to)]), upload);
    expect(await part(0, 4000)).toBe(4000);
    await expect(part(0, 4000)).rejects.toMatchObject({ code: 'UPLOAD_OFFSET' });
    const broken = Readable.from(
      (function* () {
        yield bytes.subarray(4000, 6000);
        throw new Error('connection lost');
      })(),
    );
    await expect(blobs.putPart('draft', 4000, broken, upload)).rejects.toThrow('connection lost');
    expect(await blobs.partBytes('draft')).toBe(6000);
    await expect(part(6000, 10_000, Buffer.concat([bytes, bytes]))).resolves.toBe(10_000);
    expect(await buffer(await blobs.open(sha(bytes)))).toEqual(bytes);
    expect(await blobs.partBytes('draft')).toBe(0);
    const other = randomBytes(10_000);
    await expect(blobs.putPart('draft', 0, Readable.from([other]), upload)).rejects.toMatchObject({
      code: 'BLOB_DIGEST',
    });
    expect(await blobs.partBytes('draft')).toBe(0);
  });
});

it('S3: a store that does not answer, or refuses the key, is said to be away', async () => {
  const s3 = { url: 'http://127.0.0.1:1/test', region: 'r', accessKeyId: 'test', secretAccessKey: 'test' };
  const blobs = new BlobStore({ dataDirectory: tmpdir(), s3 } as Config, logger);
  await expect(blobs.has(sha(new Uint8Array(1)))).rejects.toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' });
});

it('CIDs are those that others compute', () => {
  // The CIDv1 of the empty raw block and of "hello world\n", as IPFS gives them.
  expect(cidOf(sha(new Uint8Array()))).toBe('bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku');
  expect(cidOf(sha(Buffer.from('hello world\n')))).toBe('bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4');
});

describe('a control plane', () => {
  let test: TestPlane;
  let directory: string;
  beforeAll(async () => {
    test = await startTestPlane();
    directory = join(test.dataDirectory, 'blobs');
    await test.plane.app.get(BlobCollector).onApplicationShutdown();
  });
  afterAll(() => test.stop());

  const pathOf = (sha256: string): string => join(directory, sha256.slice(2, 4), sha256.slice(2));
  const age = (sha256: string): void => utimesSync(pathOf(sha256), new Date(0), new Date(0));
  const collect = () => test.plane.app.get(BlobCollector).collect();

  it('collects what nothing names, when it is a day old, and nothing else', async () => {
    const job = await submitFunded(test);
    const orphan = await storeBlob(test, randomBytes(64));
    const young = await storeBlob(test, randomBytes(64));
    const shard = sha(job.shards[0]!);
    for (const sha256 of [orphan, young, shard]) age(sha256);
    expect(await collect()).toEqual({ count: 0, bytes: 0 });
    test.clock.pass(graceSeconds + 1);
    await test
      .as('operator')
      .put(`/v1/blobs/${young}`, readFileSync(pathOf(young)))
      .expect(204);
    age(young);
    expect(await collect()).toEqual({ count: 1, bytes: 64 });
    expect(readdirSync(join(directory, orphan.slice(2, 4)))).not.toContain(orphan.slice(2));
    expect(readFileSync(pathOf(young))).toHaveLength(64);
    expect(sha(readFileSync(pathOf(shard)))).toBe(shard);
  });

  describe('of checkpoints', () => {
    const pieces = { pieces: true };
    let nodeId: string;
    beforeAll(async () => {
      const node = { name: 'pieces', provider: providers.operator, capabilities: { ...capabilities, ...pieces } };
      nodeId = (await test.send<{ nodeId: string }>(pattern.nodeRegister, node, 'operator')).nodeId;
    });

    const isThere = (sha256: string): boolean => existsSync(pathOf(sha256));
    const taken = async () => {
      const grant = await acquire(test, nodeId);
      await advanceTo(test, grant, 'running');
      return grant;
    };
    /** @param requirements as a job has them whose state is beyond one message */
    async function begun(requirements: object) {
      const job = await submitFunded(test);
      await test.plane.app.get(DataSource).manager.update(Job, { id: job.jobId }, { requirements });
      return { job, grant: await taken() };
    }

    it('in pieces keeps the newest for whoever goes on, and none once the job is delivered', async () => {
      const { job, grant } = await begun(pieces);
      const first = await checkpoint(test, grant, job, 0);
      expect(isThere(first)).toBe(true);
      const second = await checkpoint(test, grant, job, 1);
      expect([first, second].map(isThere)).toEqual([false, true]);
      test.clock.pass(31);
      await test.sweep();
      await collect();
      const again = await taken();
      expect(again.job.resume).toMatchObject({ step: 4, blob: second });
      await test.as('operator').get(`/v1/blobs/${second}`).expect(200);
      await test.send(pattern.leaseDeliver, { ...refOf(again), ...(await deliveryOf(test, job, [2])) });
      expect(isThere(second)).toBe(false);
    });

    it('in pieces keeps that of a failed job while it may be tried again', async () => {
      const { job, grant } = await begun(pieces);
      const blob = await checkpoint(test, grant, job, 0);
      await test.send(pattern.leaseFail, { ...refOf(grant), code: 'HOST_BROKEN', detail: 'x', retry: false });
      await collect();
      expect(isThere(blob)).toBe(true);
      await test.as('client').post(`/v1/jobs/${job.jobId}/retry`, {}).expect(200);
      expect((await acquire(test, nodeId)).job.resume).toMatchObject({ blob });
      await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
      await collect();
      expect(isThere(blob)).toBe(false);
    });

    it('in pieces keeps what somebody brought again after it was named', async () => {
      const { job, grant } = await begun(pieces);
      const first = await checkpoint(test, grant, job, 0);
      test.clock.pass(1);
      await test
        .as('operator')
        .put(`/v1/blobs/${first}`, readFileSync(pathOf(first)))
        .expect(204);
      await checkpoint(test, grant, job, 1);
      expect(isThere(first)).toBe(true);
    });

    it('that are single messages keeps them all', async () => {
      const { job, grant } = await begun({});
      const blobs = [await checkpoint(test, grant, job, 0), await checkpoint(test, grant, job, 1)];
      expect(blobs.map(isThere)).toEqual([true, true]);
    });
  });

  it('breaks off a download that is not what its name says', async () => {
    const blob = await storeBlob(test, randomBytes(64));
    const bytes = readFileSync(pathOf(blob));
    bytes[10]! ^= 1;
    writeFileSync(pathOf(blob), bytes);
    await expect(test.as('operator').get(`/v1/blobs/${blob}`).buffer(true)).rejects.toThrow(
      /aborted|hang up|terminated/,
    );
    expect(test.logs.join('')).toContain('a stored ciphertext is broken');
  });

  it('takes a shard in parts', async () => {
    const { dataset, shards } = makeJob(test.clock.at());
    const manifest = datasetManifestJson(dataset);
    await test.as('client').post('/v1/datasets', { manifest }).expect(201);
    const [bytes] = shards;
    const path = `/v1/datasets/${to0x(dataset.id)}/shards/0`;
    const half = bytes!.length >> 1;
    const send = (offset: number, part: Uint8Array) =>
      test.as('client').patch(path, part, { 'upload-offset': String(offset) });
    expect((await send(0, bytes!.subarray(0, half)).expect(200)).body).toMatchObject({ offset: half, uploaded: false });
    expect((await test.as('client').get(`${path}/upload`).expect(200)).body).toMatchObject({
      offset: half,
      bytes: bytes!.length,
    });
    expect((await send(0, bytes!).expect(409)).body).toMatchObject({ code: 'UPLOAD_OFFSET' });
    await test.as('otherClient').get(`${path}/upload`).expect(404);
    expect((await send(half, bytes!.subarray(half)).expect(200)).body).toMatchObject({ uploaded: true });
    const view = (await test.as('client').get(`/v1/datasets/${to0x(dataset.id)}`)).body as {
      shards: { cid: string; uploaded: boolean }[];
    };
    expect(view.shards[0]).toMatchObject({ uploaded: true, cid: cidOf(sha(bytes!)) });
  });
});
