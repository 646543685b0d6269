import { expect, it } from 'vitest';
import { agreeWithChain } from './result.js';

const word = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const run = { last: word(1), delivery: word(2) };
const codeOf = (committed: typeof run): string => {
  try {
    agreeWithChain(run, committed);
    return 'agreed';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it.each([
  ['the committed run', run, 'agreed'],
  ['other weights', { ...run, last: word(3) }, 'RESULT_COMMITMENT'],
  ['the same weights, delivered a second time under another key', { ...run, delivery: word(3) }, 'RESULT_DELIVERY'],
  [
    'the same weights, delivered where the chain knows of no delivery',
    { ...run, delivery: word(0) },
    'RESULT_DELIVERY',
  ],
])('before it pays, the client compares with %s', (_, committed, code) => {
  expect(codeOf(committed)).toBe(code);
});
