import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openPendingResults, type PendingResult } from './pending.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-pending-'));
afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name))));

const jobId = '0a'.repeat(32);
const word = new Uint8Array(32).fill(2);
const result: PendingResult = {
  jobId: new Uint8Array(32).fill(0x0a),
  lease: { leaseId: 'lease', fence: 3 },
  terms: Uint8Array.of(1),
  ciphertext: Uint8Array.of(2, 3),
  revealKey: word,
  borders: [word, word],
  run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word },
  seal: Uint8Array.of(4),
};

it('survives in another process until it is removed', () => {
  openPendingResults(folder).save(result);
  const again = openPendingResults(folder);
  expect(again.jobs()).toEqual([jobId]);
  expect(again.find(jobId)).toEqual(result);
  expect(again.find('0b'.repeat(32))).toBeNull();
  expect(statSync(join(folder, `${jobId}.pending`)).mode & 0o077).toBe(0);
  again.remove(result);
  expect(again.jobs()).toEqual([]);
});

it('that was written in part is not there', () => {
  writeFileSync(join(folder, `${jobId}.pending.partial`), 'half');
  expect(openPendingResults(folder).jobs()).toEqual([]);
});

it('that was damaged is refused by name, and the others are still there', () => {
  const pending = openPendingResults(folder);
  pending.save(result);
  pending.save({ ...result, jobId: word });
  const path = join(folder, `${jobId}.pending`);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, bytes.length - 3));
  expect(() => pending.find(jobId)).toThrow(/CBOR_/);
  expect(pending.jobs()).toHaveLength(2);
  expect(pending.find('02'.repeat(32))).not.toBeNull();
});
