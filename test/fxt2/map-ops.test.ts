/** Convolutions, pools, dropout and activations: reference and engine agree on any parameters and records (libs/step/SPEC.md §22). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  engineOutcome,
  randomExamples,
  randomParameters,
  referenceOutcome,
  seeded,
  smallNet,
} from '#test/net-agreement';

/** From values that change nothing much to values that saturate everywhere. */
const sizes = fc.constantFrom(2 ** -12, 2 ** -8, 2 ** -4, 2 ** -2, 0.9);
const common = {
  seed: fc.nat(),
  features: sizes,
  weights: sizes,
  overflow: fc.constantFrom('saturate', 'fail'),
  a: fc.integer({ min: 5, max: 11 }),
  g: fc.integer({ min: 8, max: 14 }),
};
type Common = { [K in keyof typeof common]: (typeof common)[K] extends fc.Arbitrary<infer T> ? T : never };

const side = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const pair = (max: number): fc.Arbitrary<number[]> => fc.array(side(max), { minLength: 2, maxLength: 2 });
const pads = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 4, maxLength: 4 });

/** @returns whether a guard refused the step, as both say */
async function agree(
  layers: readonly object[],
  shape: readonly number[],
  one: Common,
  dtype = 'int16',
): Promise<boolean> {
  const input = { shape, dtype, frac: 8 };
  // Exact descent keeps every bit of a weight: too many beside features of 32 bits.
  const optimizer = dtype === 'int32' && { optimizer: { kind: 'sgd', lr: { frac: 20, points: [[0, 1]] } } };
  const m = smallNet([...layers, { op: 'dense', out: 3 }], { overflow: one.overflow, input, ...optimizer });
  const next = seeded(one.seed);
  const parameters = randomParameters(m, next, one.weights);
  const examples = randomExamples(m, next, one.features);
  const expected = referenceOutcome(m, parameters, examples);
  expect(await engineOutcome(m, parameters, examples)).toEqual(expected);
  return expected.isRefused;
}

/** Both ways a step can end come about. */
async function holds<T>(arbitrary: fc.Arbitrary<T>, run: (one: T) => Promise<boolean>): Promise<void> {
  const refused = new Set<boolean>();
  await fc.assert(
    fc.asyncProperty(arbitrary, async (one) => {
      refused.add(await run(one));
    }),
    { numRuns: 40, seed: 20_261_124 },
  );
  expect([...refused].toSorted()).toEqual([false, true]);
}

/** A layer over maps [5, 6, 2] that a convolution of one pixel made, so that an error flows through it. */
const behind = (layer: object, g: number): readonly object[] => [
  { op: 'conv2d', k: [1, 1], out: 2, g },
  layer,
  { op: 'flatten' },
];

describe('reference and engine', () => {
  it.each(['uint8', 'int16', 'int32'])('a convolution over %s, and one over an edge', async (dtype) => {
    const convolution = fc.record({ k: pair(4), stride: pair(3), pad: pads, bias: fc.boolean() });
    await holds(fc.record({ ...common, first: convolution, second: convolution }), ({ first, second, ...one }) =>
      agree(
        [
          { op: 'conv2d', out: 2, ...first, g: one.g, ...(dtype === 'int32' && { k: [1, 1] }) },
          { op: 'conv2d', out: 2, ...second, a: one.a, pad: second.pad.map((size) => size + 2) },
          { op: 'flatten' },
        ],
        [4, 5, 2],
        one,
        dtype,
      ),
    );
  });

  it('maxpool', async () => {
    await holds(fc.record({ ...common, k: pair(4) }), ({ k, ...one }) =>
      agree(behind({ op: 'maxpool', k, g: 9 }, one.g), [5, 6, 2], one),
    );
  });

  it('avgpool', async () => {
    await holds(fc.record({ ...common, k: pair(4) }), ({ k, ...one }) =>
      agree(behind({ op: 'avgpool', k, a: one.a, g: 11 }, one.g), [5, 6, 2], one),
    );
  });

  it('meanpool', async () => {
    await holds(fc.record({ ...common, T: side(9) }), ({ T, ...one }) =>
      agree(
        [
          { op: 'dense', out: 4, g: one.g },
          { op: 'meanpool', a: one.a, g: 11 },
        ],
        [T, 3],
        one,
      ),
    );
  });

  it('dropout', async () => {
    await holds(fc.record({ ...common, p16: fc.constantFrom(0, 1, 20_000, 32_768, 65_535) }), ({ p16, ...one }) =>
      agree(behind({ op: 'dropout', p16, g: 9 }, one.g), [5, 6, 2], one),
    );
  });

  it.each(['gelu', 'silu', 'tanh', 'sigmoid'])('%s', async (op) => {
    await holds(fc.record({ ...common, from: fc.constantFrom(8, 11) }), ({ from, ...one }) =>
      agree(
        [
          { op: 'dense', out: 8, a: from, g: one.g },
          { op, a: from === 8 ? 7 : 11, g: 9 },
        ],
        [5],
        one,
      ),
    );
  });
});
