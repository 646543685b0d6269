/** What the prover's key is bound to (libs/zk/SPEC.md §13.5): no two statements share a pad. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { derivePlanUnchecked, type Variant } from '../relation/plan.js';
import { seedOf, testManifest, testProfile, testSegment } from '../testing/segments.js';
import { leavesOf, withLeaf } from '../testing/structure.js';
import { Cells } from './cells.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { proveSegment, proveWitness, runSegment, type SegmentInput } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const variants: readonly Variant[] = ['joint', 'separate'];

afterEach(() => vi.restoreAllMocks());

/** The pads and the rows of H of a proof, as text. */
function randomnessOf(variant: Variant, change: (input: SegmentInput) => SegmentInput): string[] {
  const mark = backend.mark();
  const drawn: string[] = [];
  const [fill, rows] = [mask.fillPads, mask.maskRows];
  vi.spyOn(mask, 'fillPads').mockImplementation((...given) => {
    const pads = fill(...given);
    drawn.push(...Array.from(pads, String));
    return pads;
  });
  vi.spyOn(mask, 'maskRows').mockImplementation((...given) => {
    const made = rows(...given);
    drawn.push(...Array.from(made.masks.H, String));
    return made;
  });
  const { plan, input } = testSegment(backend, { variant });
  proveSegment(backend, plan, change(input));
  vi.restoreAllMocks();
  backend.release(mark);
  return drawn;
}

describe('Z-M2 two proofs with two seeds for the border after', () => {
  it.each(variants)('Z-M2 share no pad and no cell of the mask row: %s', (variant) => {
    const [first, second] = ['one', 'two'].map((name) =>
      randomnessOf(variant, (input) => ({ ...input, afterSeed: seedOf(name) })),
    );
    const known = new Set(first);
    expect(known.size).toBeGreaterThan(1_000);
    expect(second!.filter((value) => value !== '0' && known.has(value))).toEqual([]);
  });

  it.each(variants)('Z-M2 are the same bytes where nothing differs: %s', (variant) => {
    const same = (input: SegmentInput): SegmentInput => ({ ...input, afterSeed: seedOf('one') });
    expect(randomnessOf(variant, same)).toEqual(randomnessOf(variant, same));
  });
});

describe.each(variants)(
  'Z-M2 the key of two statements that differ in one field, or in one existing root: %s',
  (variant) => {
    const { plan, input } = testSegment(backend, { variant });
    const { statement } = input;
    const cells = new Cells(plan, backend);
    cells.setBlocks('WT', runSegment(backend, plan, input).after);
    const after = statement.before;
    const keyOf = (
      changed: typeof statement,
      known: mask.KnownAfter = { seed: seedOf('seed'), commitment: after },
      own = plan,
      secret = input.secret,
    ): string => toHex(mask.proverKey(secret, changed, own, cells, known));
    const flipped = (leaf: unknown): unknown => {
      if (leaf instanceof Uint8Array) return leaf.map((byte, i) => (i === 31 ? byte ^ 1 : byte));
      if (typeof leaf === 'number') return leaf + 1;
      if (typeof leaf === 'function') return () => seedOf('another outer statement');
      return `${String(leaf)}0`;
    };

    it('Z-M2 differs', () => {
      // Profile and variant are the plan's; the path follows from the root.
      const named = leavesOf(statement).filter(([name]) => !['profile', 'variant', 'dataPath'].includes(String(name)));
      const keys = named.map((path) => keyOf(withLeaf(statement, path, flipped)));
      const knowns: mask.KnownAfter[] = [
        {},
        { seed: seedOf('seed') },
        { seed: seedOf('other seed'), commitment: after },
        { seed: seedOf('seed'), commitment: withLeaf(after, ['root'], flipped) },
        { seed: seedOf('seed'), commitment: withLeaf(after, ['ood'], flipped) },
      ];
      const otherPlan = derivePlanUnchecked(testManifest(), { ...testProfile, grind0: 4 }, variant);
      const all = [
        keyOf(statement),
        ...keys,
        ...knowns.map((known) => keyOf(statement, known)),
        keyOf(statement, undefined, otherPlan),
        keyOf(statement, undefined, plan, seedOf('other secret')),
      ];
      expect(named.length).toBeGreaterThan(20);
      expect(new Set(all).size).toBe(all.length);
    });
  },
);

it('Z-M2 the key of another witness differs', () => {
  const seen = new Set<string>();
  const { proverKey } = mask;
  vi.spyOn(mask, 'proverKey').mockImplementation((...given) => {
    const key = proverKey(...given);
    seen.add(toHex(key));
    return key;
  });
  const { plan, input } = testSegment(backend, { weights: initialWeights(testManifest()) });
  for (const by of [0, 1]) {
    const mark = backend.mark();
    const segment = runSegment(backend, plan, input);
    segment.witness.get('A1')![0]! += by;
    proveWitness(backend, plan, input, segment);
    backend.release(mark);
  }
  expect(seen.size).toBe(2);
});
