import { expect, it } from 'vitest';
import type { JobManifest } from '#libs/step';
import { tableNet } from '#test/net-job';
import { usualSegment } from './segments.js';

const job = (steps: number, superblock = 1): JobManifest => ({ ...tableNet({ superblock }), steps });

it('cuts a job into ten segments of whole superblocks', () => {
  expect([1, 10, 1008].map((steps) => usualSegment(job(steps)))).toEqual([1, 1, 101]);
  expect(usualSegment(job(1008, 8))).toBe(104);
});

it('gives several workers whole rounds where the steps allow for them', () => {
  expect(usualSegment(job(1860), 2)).toBe(93);
  expect(usualSegment(job(42), 3)).toBe(2);
  expect(usualSegment(job(13), 2)).toBe(2);
});

it('ends a segment with each evaluation where a rule may stop the job', () => {
  const stop = { metric: 'accuracy', patience: 1, minimum: 1_000 };
  expect(usualSegment(tableNet({ stop }))).toBe(8);
});
