/** Every proof of every tree of 1 to 600 leaves. */
import { expect, it } from 'vitest';
import { everyProof } from '#test/log-tree';

it('shows every leaf and every earlier tree of up to 600 leaves, and nothing else', () => {
  const counts = everyProof(1, 600, 17);
  expect(counts.proofs).toBe(2 * ((600 * 601) / 2));
  expect(counts.accepted).toBe(0);
}, 600_000);
