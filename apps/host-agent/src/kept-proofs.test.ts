import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { proofBytesMax } from '#attestation/base';
import { openKeptProofs, type KeptProofs } from './kept-proofs.js';

const [jobId, other] = ['0a'.repeat(32), '0b'.repeat(32)] as const;
const proof = { bundle: Uint8Array.of(1, 2, 3), document: '{}' };
let folder: string;
let proofs: KeptProofs;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-kept-proofs-'));
  proofs = openKeptProofs(folder);
});

it('are there in another process, of their own job, until it has ended', () => {
  for (const index of [10, 2]) proofs.keep(jobId, index, proof);
  proofs.keep(other, 3, proof);
  const again = openKeptProofs(folder);
  expect([again.held(jobId), again.held(other), again.find(jobId, 2)]).toEqual([[2, 10], [3], proof]);
  expect(statSync(join(folder, `${jobId}-2.proof`)).mode & 0o077).toBe(0);
  again.remove(jobId);
  expect([again.held(jobId), again.held(other), again.find(jobId, 2)]).toEqual([[], [3], null]);
  again.keepOnly(new Set([jobId]));
  expect(readdirSync(folder)).toEqual([]);
});

it('that were damaged or written in part are not here, and may be kept again', () => {
  proofs.keep(jobId, 0, proof);
  const path = join(folder, `${jobId}-0.proof`);
  writeFileSync(path, readFileSync(path).subarray(0, 5));
  writeFileSync(join(folder, `${jobId}-1.proof.partial`), 'half');
  expect([proofs.find(jobId, 0), proofs.held(jobId)]).toEqual([null, []]);
  proofs.keep(jobId, 0, proof);
  expect(proofs.find(jobId, 0)).toEqual(proof);
});

it('that a killed process has not written whole go with their job, and at the next start', () => {
  const half = (of: string): void => writeFileSync(join(folder, `${of}-1.proof.partial`), 'half');
  [jobId, other].forEach(half);
  proofs.remove(jobId);
  expect(readdirSync(folder)).toEqual([`${other}-1.proof.partial`]);
  proofs.keep(other, 2, proof);
  proofs.keepOnly(new Set([other]));
  expect(readdirSync(folder)).toEqual([`${other}-2.proof`]);
});

it('that are longer than could be read again are refused, not kept', () => {
  const long = { ...proof, bundle: new Uint8Array(proofBytesMax + 1) };
  expect(() => proofs.keep(jobId, 0, long)).toThrow(expect.objectContaining({ code: 'MESSAGE_SHAPE' }));
  expect(proofs.held(jobId)).toEqual([]);
});
