/** The layers of a transformer: reference and engine agree on any parameters and records (libs/step/SPEC.md §22). */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NetManifest } from '#libs/step';
import {
  engineOutcome,
  randomExamples,
  randomParameters,
  referenceOutcome,
  seeded,
  smallNet,
} from '#test/net-agreement';

/** From values that change nothing much to values that saturate everywhere. */
const sizes = fc.constantFrom(2 ** -12, 2 ** -8, 2 ** -4, 2 ** -2, 0.9, 0.9);
const cases = fc.record({
  seed: fc.nat(),
  features: sizes,
  weights: sizes,
  overflow: fc.constantFrom('saturate', 'fail'),
  a: fc.integer({ min: 6, max: 12 }),
  g: fc.integer({ min: 8, max: 14 }),
});
type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never;

async function agree(m: NetManifest, { seed, features, weights }: Case, tokensBelow?: number): Promise<boolean> {
  const next = seeded(seed);
  const parameters = randomParameters(m, next, weights);
  const examples = randomExamples(m, next, features, tokensBelow);
  const expected = referenceOutcome(m, parameters, examples);
  expect(await engineOutcome(m, parameters, examples)).toEqual(expected);
  return expected.isRefused;
}

/** Both ways a step can end come about. */
async function holds(arbitrary: fc.Arbitrary<Case>, run: (one: Case) => Promise<boolean>, runs = 40): Promise<void> {
  const refused = new Set<boolean>();
  await fc.assert(
    fc.asyncProperty(arbitrary, async (one) => {
      refused.add(await run(one));
    }),
    { numRuns: runs, seed: 20_261_124 },
  );
  expect([...refused].toSorted()).toEqual([false, true]);
}

it.each([
  ['rmsnorm', 4],
  ['rmsnorm', 7],
  ['layernorm', 8],
  ['layernorm', 5],
])('%s of width %i', async (op, width) => {
  await holds(cases, (one) =>
    agree(
      smallNet(
        [
          { op: 'dense', out: width, g: 9 },
          { op, a: one.a, g: one.g },
          { op: 'dense', out: 3 },
        ],
        {
          overflow: one.overflow,
        },
      ),
      one,
    ),
  );
});

it.each([
  [false, 1],
  [true, 1],
  [true, 3],
])('attention, causal %s, %i heads', async (causal, heads) => {
  await holds(cases, (one) =>
    agree(
      smallNet(
        [
          ...['q', 'k', 'v'].map((id) => ({ op: 'dense', id, in: 'input', out: 6, bias: false, a: one.a })),
          { op: 'attention', in: ['q', 'k', 'v'], heads, causal, g: one.g },
          { op: 'dense', out: 3 },
        ],
        { overflow: one.overflow, input: { shape: [5, 4], dtype: 'int16', frac: 8 }, labelShape: [5] },
      ),
      one,
    ),
  );
});

it('attention whose scores reach no zero of the exponential', async () => {
  await holds(cases, (one) =>
    agree(
      smallNet(
        [
          ...['q', 'k', 'v'].map((id) => ({ op: 'dense', id, in: 'input', out: 4, bias: false, a: 15 })),
          { op: 'attention', in: ['q', 'k', 'v'], heads: 2, causal: true, E: 15, k: 34 },
          { op: 'dense', out: 3 },
        ],
        { overflow: one.overflow, input: { shape: [4, 4], dtype: 'int16', frac: 8 }, labelShape: [4] },
      ),
      one,
    ),
  );
});

it.each([['q'], ['k'], ['v']])('attention that learns by %s alone', async (learned) => {
  await holds(cases, (one) =>
    agree(
      smallNet(
        [
          ...['q', 'k', 'v'].map((id) => ({
            ...{ op: 'dense', id, in: 'input', out: 4, bias: false, frozen: id !== learned },
          })),
          { op: 'attention', in: ['q', 'k', 'v'], heads: 2, causal: false, a: one.a, g: one.g },
          { op: 'dense', out: 3 },
        ],
        { overflow: one.overflow, input: { shape: [4, 4], dtype: 'int16', frac: 8 }, labelShape: [4] },
      ),
      one,
    ),
  );
});

it.each([[7], [300]])('an embedding of %i tokens with positions', async (vocab) => {
  await holds(cases, (one) =>
    agree(
      smallNet(
        [
          { op: 'embedding', vocab, out: 4, a: one.a, g: one.g },
          { op: 'position', g: 9 },
          { op: 'dense', out: 3 },
        ],
        { overflow: one.overflow, input: { shape: [5], tokens: true }, labelShape: [5] },
      ),
      one,
      vocab,
    ),
  );
});
