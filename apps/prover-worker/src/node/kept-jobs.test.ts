/** Which escrow a node's stake is in is what its disk says, whatever else is offered under the name of the job. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { openKeptJobs } from './kept-jobs.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-kept-jobs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('keeps the terms that its stake is under', () => {
  const kept = openKeptJobs(folder);
  const jobId = to0x(new Uint8Array(32).fill(1));
  const [spec, first, own, other] = [0, 1, 2, 3].map((byte) => Uint8Array.of(byte));
  kept.open(jobId, spec!, first!);
  kept.open(jobId, spec!, own!);
  kept.markStaked(jobId);
  kept.open(jobId, spec!, own!);
  expect(() => kept.open(jobId, spec!, other!)).toThrow(expect.objectContaining({ code: 'PROVER_JOB_KEPT' }));
  expect(kept.find(jobId)).toMatchObject({ terms: own, isStaked: true });
});
