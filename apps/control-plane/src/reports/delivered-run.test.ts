import { expect, it } from 'vitest';
import { fromHex, to0x, toHex } from '#attestation/base';
import { bordersRoot, deliveryDigest, JobMode } from '#attestation/records';
import { checkDeliveredRun, deliveredSteps } from './delivered-run.js';

const word = (byte: number): string => `0x${toHex(new Uint8Array(32).fill(byte))}`;
const result = { blob: word(1), bytes: 100, ciphertextDigest: word(2), keyCommit: word(3) };
const revealed = { mode: JobMode.tee | JobMode.reveal, segments: 5 };
const early = { ...revealed, mode: revealed.mode | JobMode.early };

function delivered(segments: number, change: object = {}) {
  const borders = Array.from({ length: segments + 1 }, (_, index) => word(10 + index));
  const delivery = to0x(deliveryDigest(fromHex(result.ciphertextDigest), fromHex(result.keyCommit)));
  const root = to0x(bordersRoot(borders.map(fromHex)));
  const outcome = segments < 5 ? (3 as const) : (0 as const);
  const run = { upTo: segments, outcome, bordersRoot: root, last: borders.at(-1)!, delivery, keys: word(4) };
  return { borders, result, run: { ...run, ...change } };
}

it('takes a complete run, and one that the rule stopped where the terms allow it', () => {
  checkDeliveredRun(delivered(5), revealed);
  checkDeliveredRun(delivered(5), early);
  for (const segments of [1, 2, 4]) checkDeliveredRun(delivered(segments), early);
});

it.each([
  ['an early stop that the terms do not allow', delivered(3), revealed],
  ['an early stop before the first border', delivered(0), early],
  ['an early stop that says it is complete', delivered(3, { outcome: 0 }), early],
  ['a complete run that says it was stopped', delivered(5, { outcome: 3 }), early],
  ['a stop on request', delivered(3, { outcome: 2 }), early],
  ['a run out of range', delivered(3, { outcome: 1 }), early],
  ['other segments than borders', delivered(3, { upTo: 2 }), early],
  ['another last border', delivered(3, { last: word(11) }), early],
  ['another root', delivered(3, { bordersRoot: word(11) }), early],
  ['another delivery', delivered(3, { delivery: word(0) }), early],
])('refuses %s', (_, message, terms) => {
  expect(() => checkDeliveredRun(message, terms)).toThrow(/DELIVERY_RUN/);
});

it('counts the steps that must be signed for', () => {
  const spec = { segmentSteps: 4 };
  expect(deliveredSteps(spec, 20, { outcome: 0, upTo: 5 })).toBe(20);
  expect(deliveredSteps(spec, 18, { outcome: 0, upTo: 5 })).toBe(18);
  expect(deliveredSteps(spec, 20, { outcome: 3, upTo: 3 })).toBe(12);
  expect(deliveredSteps({ ...spec, parallel: 2 }, 40, { outcome: 3, upTo: 3 })).toBe(24);
});
