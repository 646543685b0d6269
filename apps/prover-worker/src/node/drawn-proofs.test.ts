/** How often a chain is asked what a run owes. */
import { beforeAll, expect, it, vi } from 'vitest';
import { to0x } from '#attestation/base';
import { encodeJobSpec, encodeTerms, JobMode } from '#attestation/records';
import { duties, marketTerms } from '#test/escrow-market';
import { turnSteadyTime } from '#test/steady-time';
import { tinyDataset, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { openDrawnProofs } from './drawn-proofs.js';
import type { NodeParts } from './parts.js';

let job: TinyJob;
beforeAll(async () => {
  const manifest = tinyManifest({ steps: 4, superblock: 4 });
  job = await tinyJob({ manifest, dataset: await tinyDataset(manifest, { proving: 'chain1' }), segmentSteps: 4 });
});

it('asks about a run of many segments for a small part of its time', async () => {
  const wait = turnSteadyTime();
  const jobId = to0x(job.jobId);
  const terms = encodeTerms(marketTerms({ mode: JobMode.sample, segments: 1000, samples: 1000, windows: duties }));
  const borders = [new Uint8Array(32), new Uint8Array(32)];
  const held = { jobId, spec: encodeJobSpec(job.spec), terms, borders, proofs: [], told: [] };
  const segments = Array.from({ length: 1000 }, (_, segment) => segment);
  const due = vi.fn(() => Promise.resolve({ segments, owed: segments, isOpen: true, isUrgent: false }));
  const send = () => Promise.resolve({ task: null, elsewhere: null, left: 1000 });
  const drawn = openDrawnProofs(
    {
      ...{ kept: { ids: () => [jobId], find: () => held }, escrow: { due }, controlPlane: { send } },
      settings: { proves: true, escrow: { proofSeconds: 1000 } },
    } as unknown as NodeParts,
    () => Promise.resolve(true),
  );
  for (let second = 0; second < 120; second++) {
    expect(await drawn.proveNext(new AbortController().signal)).toBe('held');
    wait(1);
  }
  expect(due.mock.calls.length).toBeGreaterThan(1);
  expect(due.mock.calls.length).toBeLessThan(4);
  vi.restoreAllMocks();
});
