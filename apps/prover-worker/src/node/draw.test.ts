/** What a run owes, as an endpoint says whose nodes are at different blocks. */
import { expect, it } from 'vitest';
import { sampleOf, type JobView, type SettlementClient } from '#libs/settlement';
import { duties, marketTerms } from '#test/escrow-market';
import { dueOf } from './draw.js';

const [before, head] = [6, 7];
const seed = `0x${'5a'.repeat(32)}`;
const terms = marketTerms({ segments: 8, samples: 3, windows: duties });
const nothing = { sampleDue: false, drawn: false, allDue: false, unsealed: false, setDeadline: 0, seed };
const committed = { ...nothing, state: 'Committed', upTo: 8 };
const undrawn = { ...committed, sampleDue: true };
const drawn = { ...undrawn, drawn: true };

/** @param at  the job by blocks; what is asked of no block is answered by a node that is one behind */
function due(at: Readonly<Record<number, object>>, proved: readonly number[] = []) {
  const job = (_: unknown, number = before) => Promise.resolve(at[number] as JobView);
  const duty = {
    isProved: (_: unknown, segment: number) => Promise.resolve(proved.includes(segment)),
    sampleOf: () => Promise.resolve(null),
  };
  const rpc = { getBlock: () => Promise.resolve({ number: head, timestamp: 0 }) };
  return dueOf({ job, duties: duty } as unknown as SettlementClient, rpc as never, terms, 0);
}

const sample = [...new Set(sampleOf(seed, terms.samples, 8))].sort((a, b) => a - b);

it('is what was drawn and is not proved, by the block that was drawn in', async () => {
  const { owed, isOpen } = await due({ [before]: undrawn, [head]: drawn });
  expect({ owed, isOpen }).toEqual({ owed: sample, isOpen: true });
  expect(await due({ [before]: undrawn, [head]: drawn }, sample)).toMatchObject({ owed: [], isOpen: false });
});

it.each([
  ['before the commit', { ...nothing, state: 'Started', upTo: 0 }],
  ['before the draw', undrawn],
  ['where the duties are those of a block before the commit', committed],
])('is to come %s', async (_, view) => {
  expect(await due({ [before]: view, [head]: view })).toEqual({
    segments: [],
    owed: [],
    isOpen: true,
    isUrgent: false,
  });
});

it.each([
  ['has ended', { ...committed, state: 'Settled' }],
  ['has no segment', { ...committed, upTo: 0 }],
  ['lost its seal and ends for it', { ...committed, unsealed: true }],
])('is nothing where the job %s', async (_, view) => {
  expect(await due({ [before]: view, [head]: view })).toMatchObject({ owed: [], isOpen: false });
});
