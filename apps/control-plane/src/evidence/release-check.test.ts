/** A key broker whose clock is wrong: what it says now is for another time, and no bundle could show it. */
import { expect, it } from 'vitest';
import { clockSkewSeconds } from '#attestation/records';
import { checkGrantTime } from './release-check.js';

const at = 1_800_000_000;
const word = { grantedAt: at, notAfter: at + 60 };

it.each([
  ['a second before its end', at + 59, 'ok'],
  ['at its end', at + 60, 'ok'],
  ['after its end', at + 61, 'RELEASE_TIME'],
  ['a little before it was given', at - clockSkewSeconds, 'ok'],
  ['long before it was given', at - clockSkewSeconds - 1, 'RELEASE_TIME'],
  ['a day before it was given', at - 86_400, 'RELEASE_TIME'],
])('a word of the broker on evidence that was judged %s', (_when, judgedAt, code) => {
  const check = () => checkGrantTime(word, judgedAt);
  if (code === 'ok') expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code }) as Error);
});
