import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { renderComparison } from '#test/comparison';

it('the comparison of proofs is what its figures give (npm run bless)', () => {
  const page = readFileSync(new URL('../../libs/zk/COMPARISON.md', import.meta.url), 'utf8');
  expect(renderComparison()).toBe(page);
});
