/** Checkpoints and results in pieces: uploads in parts that go on where they broke off, and reads of a range. */
import { createHash, randomBytes } from 'node:crypto';
import request from 'supertest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limits } from '#libs/wire';
import { keys, startTestPlane, type TestPlane } from './harness.js';

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
}, 60_000);
afterAll(() => test?.stop());

const bytes = randomBytes(100_000);
const nameOf = (content: Uint8Array): string => `0x${createHash('sha256').update(content).digest('hex')}`;
const path = `/v1/blobs/${nameOf(bytes)}`;

function patch(offset: string, content: Uint8Array, { length = bytes.length, to = path, key = keys.operator } = {}) {
  return request(test.plane.app.getHttpServer())
    .patch(to)
    .set('authorization', `Bearer ${key}`)
    .set('content-type', 'application/octet-stream')
    .set('upload-offset', offset)
    .set('upload-length', String(length))
    .send(Buffer.from(content));
}

const problem = async (call: request.Test): Promise<string> => {
  const { status, body } = await call;
  return `${status} ${(body as { code?: string }).code}`;
};
const range = (said: string, key = keys.operator) =>
  request(test.plane.app.getHttpServer()).get(path).set('authorization', `Bearer ${key}`).set('range', said);
const uploadState = () => test.as('operator').get(`${path}/upload`).expect(200);

it('an upload in parts goes on where it broke off, and is there once its digest is right', async () => {
  expect((await uploadState()).body).toEqual({ offset: 0, bytes: 0, uploaded: false });
  const first = await patch('0', bytes.subarray(0, 60_000)).expect(200);
  expect(first.body).toEqual({ offset: 60_000, bytes: 100_000, uploaded: false });
  expect(await problem(patch('0', bytes.subarray(0, 60_000)))).toBe('409 UPLOAD_OFFSET');
  expect((await uploadState()).body).toMatchObject({ offset: 60_000, uploaded: false });
  expect(await problem(test.as('operator').get(path))).toBe('404 BLOB_UNKNOWN');
  const last = await patch('60000', bytes.subarray(60_000)).expect(200);
  expect(last.body).toEqual({ offset: 100_000, bytes: 100_000, uploaded: true });
  expect((await uploadState()).body).toEqual({ offset: 100_000, bytes: 100_000, uploaded: true });
});

it('a range is given alone, and anything else the whole', async () => {
  const part = await range('bytes=99990-200000').expect(206);
  expect(part.headers['content-range']).toBe('bytes 99990-99999/100000');
  expect(part.body).toEqual(bytes.subarray(99_990));
  expect((await range('bytes=0-9').expect(206)).body).toEqual(bytes.subarray(0, 10));
  for (const said of ['bytes=9-', 'bytes=5-4', 'bytes=100000-100001', 'bytes=0-1,3-4', 'items=0-9']) {
    expect((await range(said).expect(200)).body).toEqual(bytes);
  }
  expect(await problem(range('bytes=0-9', keys.otherOperator))).toBe('404 BLOB_UNKNOWN');
});

it('a wrong whole is dropped, and what is too large or has no length is refused at once', async () => {
  const other = randomBytes(100);
  const to = `/v1/blobs/${nameOf(randomBytes(8))}`;
  expect(await problem(patch('0', other, { length: 100, to }))).toBe('422 BLOB_DIGEST');
  expect(await problem(patch('0', other, { length: limits.largeBlobBytesMax + 1, to }))).toBe('413 BODY_OVERSIZE');
  expect(await problem(patch('0', other, { length: 50, to }))).toBe('413 BODY_OVERSIZE');
  expect(await problem(patch('x', other, { to }))).toBe('400 REQUEST_MALFORMED');
  expect(await problem(patch('0', other, { to, key: keys.client }))).toBe('403 ROLE_FORBIDDEN');
  expect((await test.as('operator').get(`${to}/upload`).expect(200)).body).toMatchObject({ offset: 0 });
});
