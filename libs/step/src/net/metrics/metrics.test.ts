import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { tensorBytes } from '../../int64.js';
import { parseNetManifest } from '../manifest.js';
import { NetMeasurement } from './evaluate.js';
import { logarithm, logarithmTable } from './logarithm.js';

const base = {
  ...{ fxt: 2, seed: `0x${'11'.repeat(32)}`, batch: 4, steps: 8, g: 12, wint: 3 },
  ...{ input: { shape: [5], frac: 8 }, optimizer: { kind: 'sgd-exact', e: 8, m: [[0, 1]] } },
};

/** A dense layer of `out` outputs at fraction a, in front of this loss. */
function net(out: number, a: number, loss: object, labelShape: readonly number[], metrics: readonly string[]) {
  const evaluate = { every: 4, metrics };
  return parseNetManifest({ ...base, a: 8, labelShape, loss, evaluate, layers: [{ op: 'dense', out, a }] });
}
const classNet = (classes: number, a = 8, metrics = ['accuracy', 'loss']) =>
  net(classes, a, { kind: 'softmax-ce', E: 12, k: 40 }, [], metrics);
const bitNet = (targets: number, metrics: readonly string[]) =>
  net(targets, 8, { kind: 'sigmoid-bce' }, [targets], metrics);
const realNet = (targets: number) => net(targets, 12, { kind: 'mse' }, [targets], ['sse', 'sae']);

function measure(m: ReturnType<typeof net>, outputs: readonly number[], labels: readonly number[]) {
  const measurement = new NetMeasurement(m);
  measurement.add(outputs, labels);
  return Object.fromEntries(
    measurement.results().map(({ metric, numerator, denominator }) => [metric, [numerator, denominator]]),
  );
}

const score = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 });

describe('the logarithm', () => {
  it('has a table of floor(2^16·ln(1 + i·2^-15) + 1/2)', () => {
    const table = logarithmTable();
    expect(table.length).toBe(2 ** 15);
    table.forEach((entry, i) => expect(entry).toBe(Math.floor(2 ** 16 * Math.log1p(i / 2 ** 15) + 0.5)));
    expect(toHex(keccak_256(tensorBytes(BigInt64Array.from(table, BigInt))))).toBe(
      '77031013567e8e842bb000cd618501f5e90f42bb37ae265c4bb132c582d1bda1',
    );
  });

  it('is within an entry’s width and its roundings of the real one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 44 }), (S) => {
        const error = logarithm(S) / 2 ** 16 - Math.log(S);
        const bits = Math.ceil(Math.log2(S + 1));
        expect(Math.abs(error)).toBeLessThan(2 ** -15 + 2 ** -17 + (bits * 0.2) / 2 ** 16);
      }),
    );
  });

  it.each([
    [1, 0],
    [2, 45_426],
    [2 ** 15, 15 * 45_426],
    [2 ** 16 - 1, 15 * 45_426 + Math.floor(2 ** 16 * Math.log((2 ** 16 - 1) / 2 ** 15) + 0.5)],
    [2 ** 16, 16 * 45_426],
    [2 ** 16 + 1, 16 * 45_426],
    [2 ** 16 + 2, 16 * 45_426 + 2],
    [2 ** 52, 52 * 45_426],
  ])('of %d is %d', (S, expected) => {
    expect(logarithm(S)).toBe(expected);
  });
});

describe('accuracy and loss of classes', () => {
  it('takes the first of equal outputs, and leaves class −1 out of both parts', () => {
    const outputs = [
      [3, 3, 1],
      [3, 3, 1],
      [0, 0, 5],
      [0, 9, 5],
    ].flat();
    expect(measure(classNet(3, 8, ['accuracy']), outputs, [0, 1, 2, -1])).toEqual({ accuracy: [2n, 3n] });
  });

  it('counts nothing where every row is left out', () => {
    expect(measure(classNet(2), [1, 2], [-1])).toEqual({ accuracy: [0n, 0n], loss: [0n, 0n] });
  });

  it('has 2^16·ln C as loss of equal outputs, for C a power of two exactly C’s share of 45426', () => {
    expect(measure(classNet(4, 8, ['loss']), [7, 7, 7, 7], [2])).toEqual({ loss: [2n * 45_426n, 1n] });
  });

  it('has a loss by hand: outputs 0 and 256 at fraction 8, label 0', () => {
    // μ − Y = 256 is 2^16; ε = 4096 and 1507, S = 5603 = 44824·2^-3; L[44824 − 2^15] = 20532.
    const L = Math.floor(2 ** 16 * Math.log(44_824 / 2 ** 15) + 0.5);
    const expected = 65_536 + L + 12 * 45_426 - 12 * 45_426;
    expect(measure(classNet(2, 8, ['loss']), [0, 256], [0])).toEqual({ loss: [BigInt(expected), 1n] });
  });

  /**
   * Every ε is off by at most a half, S by C/2; the table is entered up to 2^-15 too low and rounds by 2^-17; every
   * doubling of S adds ln 2 to within 0.1·2^-16.
   */
  it.each([2, 10, 69, 5000])('%d classes: the loss of a row is the real one to within its roundings', (classes) => {
    const m = classNet(classes, 8, ['loss']);
    const random = generator(classes);
    for (let row = 0; row < (classes > 1000 ? 10 : 200); row++) {
      const outputs = Array.from({ length: classes }, () => Math.round(256 * (1 + (row % 4)) * normal(random)));
      const label = Math.floor(random() * classes);
      const largest = Math.max(...outputs);
      const sum = outputs.reduce((total, y) => total + Math.exp((y - largest) / 256), 0);
      const real = Math.log(sum) + (largest - outputs[label]!) / 256;
      const [numerator] = measure(m, outputs, [label]).loss!;
      const half = classes / 2 / 4096;
      const error = half / (sum - half) + 2 ** -15 + 2 ** -17 + (0.1 * Math.log2(2 * sum)) / 2 ** 16;
      expect(Math.abs(Number(numerator) / 2 ** 16 - real)).toBeLessThan(error);
    }
  });

  it('rounds the distance of an output of more than 16 fractional bits, halves up', () => {
    const m = net(2, 17, { kind: 'softmax-ce', E: 12, k: 40 }, [], ['loss']);
    const at = (difference: number) => measure(m, [-difference, 0], [0]).loss![0]!;
    // Table entries of neighbours at fraction 17 differ by less than the sum shows here.
    expect([at(1) - at(0), at(2) - at(0), at(3) - at(2)]).toEqual([1n, 1n, 1n]);
  });
});

describe('auc', () => {
  it.each([
    ['two classes', classNet(2, 8, ['auc']), (s: number) => [-s >> 1, s + (-s >> 1)]],
    ['one output', bitNet(1, ['auc']), (s: number) => [s]],
  ] as const)(
    '%s: every pair of a positive and a negative row, 2 where it is in order and 1 where equal',
    (_, m, row) => {
      const rows = fc.array(
        fc.tuple(fc.oneof(score, fc.integer({ min: -3, max: 3 })), fc.integer({ min: 0, max: 1 })),
        {
          maxLength: 60,
        },
      );
      fc.assert(
        fc.property(rows, (pairs) => {
          let [numerator, denominator] = [0n, 0n];
          for (const [positive, isOn] of pairs) {
            for (const [negative, isOther] of pairs) {
              if (isOn !== 1 || isOther !== 0) continue;
              denominator += 2n;
              numerator += positive > negative ? 2n : positive === negative ? 1n : 0n;
            }
          }
          const found = measure(
            m,
            pairs.flatMap(([s]) => row(s)),
            pairs.map(([, label]) => label),
          );
          expect(found).toEqual({ auc: [numerator, denominator] });
        }),
      );
    },
  );

  it('holds the ends of a difference of two outputs', () => {
    const [high, low] = [2 ** 15 - 1, -(2 ** 15)];
    expect(measure(classNet(2, 8, ['auc']), [low, high, high, low, 5, 5], [1, 0, -1])).toEqual({ auc: [2n, 2n] });
  });

  it('is offered for two classes or one output alone', () => {
    expect(() => classNet(3, 8, ['auc'])).toThrow('MANIFEST_METRIC');
    expect(() => bitNet(2, ['auc'])).toThrow('MANIFEST_METRIC');
  });
});

describe('metrics of bits and reals', () => {
  it('meets a bit by Y > 0, each for label-accuracy and all of a record for exact-match', () => {
    const m = bitNet(3, ['exact-match', 'label-accuracy']);
    const found = measure(m, [1, 0, -1, 1, 1, 1], [1, 0, 0, 1, 1, 0]);
    expect(found).toEqual({ 'exact-match': [1n, 2n], 'label-accuracy': [5n, 6n] });
  });

  it('sums squares and magnitudes exactly, at the ends of their ranges', () => {
    const far = 2 ** 31 + 2 ** 15 - 1;
    const found = measure(realNet(2), [3, -4, 2 ** 15 - 1, 0], [5, -1, -(2 ** 31), 0]);
    expect(found).toEqual({ sse: [4n + 9n + BigInt(far) ** 2n, 4n], sae: [5n + BigInt(far), 4n] });
  });
});

describe('a measurement', () => {
  it('is the same however its records are cut into chunks', () => {
    const cut = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 });
    const row = fc.tuple(score, score, fc.integer({ min: -1, max: 1 }));
    const m = classNet(2, 8, ['auc', 'loss', 'accuracy']);
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), cut, (rows, sizes) => {
        const chunks = new NetMeasurement(m);
        for (let from = 0, i = 0; from < rows.length; i++) {
          const part = rows.slice(from, (from += sizes[i % sizes.length]!));
          chunks.add(
            part.flatMap(([left, right]) => [left, right]),
            part.map(([, , label]) => label),
          );
        }
        const whole = new NetMeasurement(m);
        whole.add(
          rows.flatMap(([left, right]) => [left, right]),
          rows.map(([, , label]) => label),
        );
        expect(chunks.results()).toEqual(whole.results());
        expect(whole.results().map(({ metric }) => metric)).toEqual(['auc', 'loss', 'accuracy']);
      }),
    );
  });

  it.each([
    ['a row short', [1, 2], [0, 1]],
    ['half a row', [1, 2, 3], [0]],
  ])('%s: refused', (_, outputs, labels) => {
    expect(() => new NetMeasurement(classNet(2)).add(outputs, labels)).toThrow('EVALUATION_ROWS');
  });
});

/** Numbers in 0 … 1, the same at every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
}
