/** Which segment of a run without its seal is named to end it: for one that was challenged the stake would be lost. */
import { expect, it } from 'vitest';
import { teeTerms } from '#test/escrow-terms';
import type { Calls } from './calls.js';
import { DutyClient } from './duties.js';

const bytes = (size: number, value: number): Uint8Array => new Uint8Array(size).fill(value);
const terms = teeTerms({
  ...{ client: bytes(20, 1), provider: bytes(20, 2), keyBroker: bytes(20, 3), specDigest: bytes(32, 4) },
  ...{ initialWeights: bytes(32, 5), policy: bytes(32, 6), segments: 3, seedCommitClient: bytes(32, 7) },
  ...{ acceptBy: 4_000_000_000, windows: {} },
});
const stranger = `0x${'09'.repeat(20)}`;

type Segment = 'open' | 'proved' | 'challenged';

/** Of a committed run with these segments. */
function unmet(segments: readonly Segment[]): Promise<number | null> {
  const duties = {
    challengeOf: (_settlement: string, _escrow: Uint8Array, segment: number) =>
      Promise.resolve({ challenger: segments[segment] === 'challenged' ? stranger : '0x00', deadline: 1n }),
    isProved: (_settlement: string, _escrow: Uint8Array, segment: number) =>
      Promise.resolve(segments[segment] === 'proved'),
  };
  const calls = {
    ...{ duties, deployment: { settlement: '0x' }, read: (_what: string, ask: () => Promise<unknown>) => ask() },
    job: () => Promise.resolve({ upTo: segments.length }),
  } as unknown as Calls;
  return new DutyClient(calls, () => Promise.resolve(0n)).unmet(terms);
}

it('is the first that is neither proved nor challenged', async () => {
  expect(await unmet(['open', 'open'])).toBe(0);
  expect(await unmet(['proved', 'open'])).toBe(1);
  expect(await unmet(['challenged', 'proved', 'open'])).toBe(2);
});

it('is none where all are proved or challenged', async () => {
  expect(await unmet(['challenged', 'proved'])).toBeNull();
  expect(await unmet(['challenged'])).toBeNull();
  expect(await unmet([])).toBeNull();
});
