import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  averageWeights,
  blockOfStep,
  divideSteps,
  divRound,
  initialWeights,
  profileManifest,
  stateDigest,
  stepReference,
  superblockRecords,
  splitRecords,
  tensorShapes,
  type Manifest,
  type Weights,
} from './index.js';

const seed = `0x${'2d'.repeat(32)}`;
const m = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 4, steps: 12, seed });
/** Weights so wide that a sum of three leaves what a float64 carries exactly. */
const wide: Manifest = { ...m, wint: m.dims.slice(1).map(() => 30) };

const filled = (of: Manifest, at: (index: number) => bigint): Weights => {
  let index = 0;
  return tensorShapes(of).map(({ name, dims }) => {
    const values = new BigInt64Array(dims.reduce((a, b) => a * b, 1));
    for (let i = 0; i < values.length; i++) values[i] = at(index++);
    return { name, dims, values };
  });
};
const flat = (weights: Weights): bigint[] => weights.flatMap(({ values }) => [...values]);

describe('the average of models, libs/step/SPEC.md §8', () => {
  it.each([
    ['in float64', m],
    ['in integers', wide],
  ])('is DIVR of the sum for every element, %s, and in any order of the models', (_, of) => {
    const max = tensorShapes(of).reduce(
      (least, { magnitudeMax }) => (magnitudeMax < least ? magnitudeMax : least),
      2n ** 60n,
    );
    const value = fc.oneof(fc.bigInt({ min: -max, max }), fc.constantFrom(-max, max, -1n, 0n, 1n));
    const size = flat(initialWeights(of)).length;
    const model = fc.array(value, { minLength: size, maxLength: size });
    fc.assert(
      fc.property(fc.array(model, { minLength: 1, maxLength: 7 }), (lists) => {
        const models = lists.map((list) => filled(of, (i) => list[i]!));
        const expected = Array.from({ length: size }, (_unused, i) =>
          divRound(
            lists.reduce((sum, list) => sum + list[i]!, 0n),
            BigInt(lists.length),
          ),
        );
        expect(flat(averageWeights(of, models))).toEqual(expected);
        expect(flat(averageWeights(of, models.toReversed()))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('takes both ways', () => {
    const bits = (of: Manifest) => tensorShapes(of)[0]!.magnitudeMax.toString(2).length;
    expect([bits(m) < 49, bits(wide) > 51]).toEqual([true, true]);
  });

  it('of one model is that model', () => {
    const start = initialWeights(m);
    expect(stateDigest(m, averageWeights(m, [start]))).toEqual(stateDigest(m, start));
  });

  it('refuses no model, too many, and weights of another shape or out of range', () => {
    const start = initialWeights(m);
    expect(() => averageWeights(m, [])).toThrow(/AVERAGE_COUNT/);
    expect(() =>
      averageWeights(
        m,
        Array.from({ length: 65 }, () => start),
      ),
    ).toThrow(/AVERAGE_COUNT/);
    expect(() => averageWeights(m, [start, start.slice(1)])).toThrow(/WEIGHTS_SHAPE/);
    expect(() => averageWeights(m, [start, filled(m, () => 2n ** 60n)])).toThrow(/WEIGHTS_RANGE/);
  });
});

describe('the division of steps', () => {
  it('gives one worker the segments of a plain job', () => {
    expect(divideSteps({ steps: 20 }, { segmentSteps: 8 })).toEqual({
      ...{ workers: 1, segmentSteps: 8, roundSteps: 8, rounds: 3 },
    });
    expect(divideSteps({ steps: 20 }, { segmentSteps: 8, parallel: 1 }).rounds).toBe(3);
  });

  it('demands whole rounds of several', () => {
    expect(divideSteps({ steps: 24 }, { segmentSteps: 4, parallel: 3 })).toEqual({
      ...{ workers: 3, segmentSteps: 4, roundSteps: 12, rounds: 2 },
    });
    for (const steps of [20, 25, 11]) {
      expect(() => divideSteps({ steps }, { segmentSteps: 4, parallel: 3 })).toThrow(/JOB_PARALLEL/);
    }
    for (const parallel of [0, 65, 1.5]) {
      expect(() => divideSteps({ steps: 24 }, { segmentSteps: 4, parallel })).toThrow(/JOB_PARALLEL/);
    }
  });

  it('gives every step to one worker of one round, each with the block and size that it has in a plain job', () => {
    const { workers, segmentSteps, roundSteps, rounds } = divideSteps(m, { segmentSteps: 2, parallel: 3 });
    const records = Uint8Array.from({ length: 16 * 4 }, (_, i) =>
      i % 4 === 3 ? (i >> 2) % 2 : (Math.imul(i + 1, 0x9e3779b1) >>> 13) & 255,
    );
    const batchOf = (step: number) => splitRecords(m, superblockRecords(m, records, blockOfStep(m, step, 16)));
    const done: number[] = [];
    let weights = initialWeights(m);
    for (let round = 0; round < rounds; round++) {
      const models = Array.from({ length: workers }, (_, worker) => {
        let own = weights;
        for (let i = 0; i < segmentSteps; i++) {
          const step = round * roundSteps + worker * segmentSteps + i;
          done.push(step);
          own = stepReference(m, own, batchOf(step), step).weights;
        }
        return own;
      });
      expect(new Set(models.map((model) => flat(model).join())).size).toBeGreaterThan(1);
      weights = averageWeights(m, models);
    }
    expect(done).toEqual(Array.from({ length: m.steps }, (_, step) => step));
  });
});
