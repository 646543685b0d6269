import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { decodeCanonical, encodeCanonical, type CborValue } from '#attestation/base';
import { checkpointSessionsMax } from '#attestation/records';
import { openPendingEscrows, type PendingResult } from './pending.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-pending-'));
afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name), { recursive: true })));

const jobId = '0a'.repeat(32);
const word = new Uint8Array(32).fill(2);
const result: PendingResult = {
  version: 2,
  jobId: new Uint8Array(32).fill(0x0a),
  lease: { leaseId: 'lease', fence: 3 },
  terms: Uint8Array.of(1),
  brokerUrl: 'https://broker.example',
  key: word.slice(0, 20),
  told: false,
  stored: false,
  receipts: [{ statement: Uint8Array.of(5), receipt: Uint8Array.of(6) }],
  result: {
    ciphertext: Uint8Array.of(2, 3),
    revealKey: word,
    borders: [word, word],
    run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word, keys: word },
    keys: [word.slice(0, 20)],
    seal: Uint8Array.of(4),
  },
};

it('survives in another process until it is removed', () => {
  openPendingEscrows(folder).save(result);
  const again = openPendingEscrows(folder);
  expect(again.jobs()).toEqual([jobId]);
  expect(again.find(jobId)).toEqual(result);
  expect(again.find('0b'.repeat(32))).toBeNull();
  expect(statSync(join(folder, `${jobId}.pending`)).mode & 0o077).toBe(0);
  again.remove(jobId);
  expect(again.jobs()).toEqual([]);
});

it('is read back with as many keys as a result can have', () => {
  const keys = Array.from({ length: checkpointSessionsMax + 1 }, (_, at) => new Uint8Array(20).fill(at));
  const widest = { ...result, result: { ...result.result, keys } };
  openPendingEscrows(folder).save(widest);
  expect(openPendingEscrows(folder).find(jobId)).toEqual(widest);
});

it('is there before it has a result', () => {
  const engaged = { ...result, result: null, receipts: [] };
  openPendingEscrows(folder).save(engaged);
  expect(openPendingEscrows(folder).find(jobId)).toEqual(engaged);
});

it('that was written in part is not there', () => {
  writeFileSync(join(folder, `${jobId}.pending.partial`), 'half');
  expect(openPendingEscrows(folder).jobs()).toEqual([]);
});

it('that was damaged is refused by name, and the others are still there', () => {
  const pending = openPendingEscrows(folder);
  pending.save(result);
  pending.save({ ...result, jobId: word });
  const path = join(folder, `${jobId}.pending`);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, bytes.length - 3));
  expect(() => pending.find(jobId)).toThrow(/CBOR_/);
  expect(pending.jobs()).toHaveLength(2);
  expect(pending.find('02'.repeat(32))).not.toBeNull();
});

it('of a later version, with a member that this one does not know, is refused by name, and its file stays', () => {
  const pending = openPendingEscrows(folder);
  pending.save({ ...result, later: 1 } as PendingResult);
  expect(() => pending.find(jobId)).toThrow(/MESSAGE_SHAPE/);
  pending.tidy();
  expect([pending.layAside(), pending.jobs()]).toEqual([[], [jobId]]);
});

it('of a former version is laid aside with TERMS_VERSION, file and reveal key kept, and stops nobody', () => {
  const pending = openPendingEscrows(folder);
  pending.save(result);
  pending.save({ ...result, jobId: word });
  const path = join(folder, `${jobId}.pending`);
  const former = decodeCanonical(new Uint8Array(readFileSync(path))) as Map<string, CborValue>;
  for (const name of ['version', 'key', 'stored']) former.delete(name);
  writeFileSync(path, encodeCanonical(former));
  expect(pending.layAside()).toEqual([expect.objectContaining({ code: 'TERMS_VERSION' })]);
  expect([pending.jobs(), pending.find(jobId), pending.layAside()]).toEqual([['02'.repeat(32)], null, []]);
  expect(decodeCanonical(new Uint8Array(readFileSync(join(folder, `${jobId}.former`))))).toEqual(former);
});
