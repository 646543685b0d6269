import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NetParameter } from '../edge.js';
import { JsonReader } from '../reader.js';
import { netOptimizers } from './index.js';
import type { Moved } from './optimizer.js';
import { parseSchedule, rateAt } from './schedule.js';

type Json = Record<string, unknown>;

const flat = { frac: 24, points: [[0, 0]] };

/** One step of the parameters with these start values, gradients and state. */
function update(json: Json, moved: readonly Moved[], step = 0) {
  const { kind: name, ...members } = json;
  const kind = netOptimizers[String(name)]!;
  return kind.update(kind.parse(new JsonReader(members, 'optimizer', kind.members)), moved, step);
}

function moved(dims: readonly number[], D: readonly bigint[], extra: Partial<Moved> = {}, f = 20) {
  const parameter: NetParameter = {
    ...{ name: 'n0.W', layer: 'n0', role: dims.length === 1 ? 'b' : 'W', dims, isFrozen: false },
    ...{ fraction: 28, compute: 14, wint: 3, gradientFraction: f, gradientMax: 1n << 40n },
    ...{ decays: dims.length > 1 },
  };
  const zeros = D.map(() => 0n);
  return { parameter, W: zeros, D, state: [zeros, zeros], ...extra };
}

describe('learning rates by points', () => {
  it.each([
    [0, 336n],
    [50, 336n + 16_609n],
    [100, 33_554n],
    [120, 33_554n - 40n],
    [141, 33_471n],
    [142, 33_471n - 27n],
    [1404, 0n],
    [2000, 0n],
  ])('the page’s schedule at step %d is %d', (step, rate) => {
    const points = [
      [0, 336],
      [100, 33_554],
      [141, 33_471],
      [1404, 0],
    ];
    expect(rateAt(parseSchedule({ frac: 24, points }), step)).toBe(rate);
  });

  it('of points at one step the last counts, and the first ends the part before', () => {
    const schedule = parseSchedule({
      frac: 22,
      points: [
        [0, 0],
        [4, 8],
        [4, 1000],
        [4, 100],
        [6, 101],
      ],
    });
    expect([0, 1, 3, 4, 5, 6].map((step) => rateAt(schedule, step))).toEqual([0n, 2n, 6n, 100n, 101n, 101n]);
  });

  it('a half rounds up, falling and rising alike', () => {
    const at = (end: number): bigint =>
      rateAt(
        parseSchedule({
          frac: 1,
          points: [
            [0, 9],
            [2, end],
          ],
        }),
        1,
      );
    expect([at(10), at(8)]).toEqual([10n, 9n]);
  });

  it.each([
    ['no point at step 0', [[1, 5]]],
    [
      'steps that descend',
      [
        [0, 5],
        [4, 5],
        [3, 5],
      ],
    ],
    ['no points', []],
    ['257 points', Array.from({ length: 257 }, (_, i) => [i, 1])],
    ['a point of three numbers', [[0, 1, 2]]],
  ])('%s: refused', (_, points) => {
    expect(() => parseSchedule({ frac: 24, points })).toThrow('MANIFEST_SCHEDULE');
  });

  it.each([[[[0, -1]]], [[[0, 1.5]]], [[[0, 2 ** 53]]]])('values outside whole numbers from 0: %j', (points) => {
    expect(() => parseSchedule({ frac: 24, points })).toThrow('MANIFEST_');
  });
});

describe('the quantised gradient', () => {
  const json = { kind: 'sgd', gq: 12, hbits: 5, lr: { frac: 16, points: [[0, 1]] } };

  it('rounds from f_D to gq with halves up, and keeps within ±(2^(hbits − 1) − 1)', () => {
    // λ·2^-16 at fraction gq: W' = −h, as gq + ℓ − w = 0.
    const D = [128n, 127n, -128n, -129n, 15n << 8n, 16n << 8n, -(16n << 8n), 1n << 40n];
    const [next] = update(json, [moved([2, 4], D)]);
    expect(next!.W).toEqual([-1n, 0n, 0n, 1n, -15n, -15n, 15n, -15n]);
  });

  it('shifts to the left where gq is above f_D', () => {
    expect(update({ ...json, hbits: 9 }, [moved([1, 2], [3n, -3n], {}, 10)])[0]!.W).toEqual([-12n, 12n]);
  });
});

describe('clipping', () => {
  const json = { kind: 'sgd', gq: 12, lr: { frac: 16, points: [[0, 1]] } };
  // Columns (3·2^6, 4·2^6) and (0, 12·2^6) have the squares 25 and 144 at fraction 12; the vector adds 0: norm 13.
  const gradients = () => [moved([2, 2], [192n, 0n, 256n, 768n], {}, 12), moved([2], [1n, -1n], {}, 12)];

  it('leaves a gradient whose norm is the limit', () => {
    const next = update({ ...json, clip: 13 }, gradients());
    expect(next.map(({ W }) => W)).toEqual([
      [-192n, 0n, -256n, -768n],
      [-1n, 1n],
    ]);
  });

  it('scales every parameter by FDIV(clip·2^16, norm) where the norm is above', () => {
    const kappa = 60_494n;
    expect((12n << 16n) / 13n).toBe(kappa);
    const next = update({ ...json, clip: 12 }, gradients());
    // 192·κ/2^16 = 177.2…, 256·κ/2^16 = 236.3…, 768·κ/2^16 = 708.9…, ±κ/2^16 = ±0.92…
    expect(next.map(({ W }) => W)).toEqual([
      [-177n, 0n, -236n, -709n],
      [-1n, 1n],
    ]);
  });

  it('rounds the squares of each column, not their total: two columns of 2047 are 0, one of 2048 is 1', () => {
    const small = (h: bigint) => update({ ...json, clip: 1 }, [moved([1, 4], [h, h, h, h], {}, 12)])[0]!.W[0];
    // 45² = 2025 rounds to 0, 46² = 2116 to 1: four columns make 4, norm 2, and κ one half.
    expect([small(45n), small(46n)]).toEqual([-45n, -23n]);
  });
});

describe('sgd', () => {
  const lr = { frac: 16, points: [[0, 1]] };

  it('has the momentum m1 − RS(b·m1, q) + h', () => {
    const state = [[100n, -100n, 3n]];
    const [next] = update({ kind: 'sgd', momentum: [3, 3], lr }, [moved([1, 3], [5n, 5n, 0n], { state }, 12)]);
    // RS(300, 3) = 38, RS(−300, 3) = −37, RS(9, 3) = 1.
    expect(next).toEqual({ W: [-67n, 58n, -2n], state: [[67n, -58n, 2n]] });
  });

  it('has no state without momentum', () => {
    expect(update({ kind: 'sgd', lr }, [moved([1, 1], [5n], {}, 12)])[0]!.state).toEqual([]);
  });

  it('decays W by the old W and leaves biases', () => {
    const json = { kind: 'sgd', decay: 655, lr: { frac: 24, points: [[0, 33_554]] } };
    const W = [1n << 28n, -(1n << 28n)];
    const next = update(json, [moved([1, 2], [0n, 0n], { W }), moved([2], [0n, 0n], { W })]);
    // ω = RS(33554·655, 10) = 21463, and RS(21463·2^28, 30) = 5366 (5365.75), RS(−…) = −5366.
    expect(next.map((one) => one.W)).toEqual([[W[0]! - 5366n, W[1]! + 5366n], W]);
  });
});

describe('adamw', () => {
  const json = { kind: 'adamw', beta1: [1, 1], beta2: [1, 2], lr: { frac: 16, points: [[0, 1]] } };

  it('takes the moments, their quotient and a step, by hand', () => {
    const [next] = update(json, [moved([1, 2], [100n, -100n], {}, 12)]);
    // m1 = ±12800, m2 = RS(100²·2^10·1, 2) = 2560000, root 1600, U = DIVR(±12800·2^9, 1601).
    expect(next!.state).toEqual([
      [12_800n, -12_800n],
      [2_560_000n, 2_560_000n],
    ]);
    // 6553600/1601 = 4093.44…; λ_t·U keeps its fraction, as u + ℓ − w = 0.
    expect(next!.W).toEqual([-4093n, 4093n]);
  });

  it('keeps U within ±2^(u + 3), the upper end included', () => {
    const state = [
      [1n << 24n, -(1n << 24n)],
      [0n, 0n],
    ];
    const [next] = update({ ...json, beta1: [1, 10] }, [moved([1, 2], [0n, 0n], { state })]);
    expect(next!.W).toEqual([-32_768n, 32_768n]);
  });

  it('decays W by the old W beside its step', () => {
    const W = [1n << 28n];
    const [next] = update({ ...json, decay: 1 << 16 }, [moved([1, 1], [100n], { W }, 12)]);
    // ω = RS(1·2^16, 2) = 2^14: 2^28·2^-16 = 4096.
    expect(next!.W).toEqual([(1n << 28n) - 4093n - 4096n]);
  });

  it('never takes a second moment below 0, which has no root', () => {
    const value = fc.bigInt({ min: -(1n << 20n) + 1n, max: (1n << 20n) - 1n });
    const q = fc.integer({ min: 0, max: 12 });
    const factor = q.chain((bits) => fc.tuple(fc.integer({ min: 1, max: 2 ** bits }), fc.constant(bits)));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 30 }), factor, (values, beta2) => {
        let state: readonly (readonly bigint[])[] = [[0n], [0n]];
        for (const D of values) {
          state = update({ ...json, beta2 }, [moved([1, 1], [D], { state }, 12)])[0]!.state;
          expect(state[1]![0]).toBeGreaterThanOrEqual(0n);
          expect(state[1]![0]).toBeLessThanOrEqual((((1n << 20n) - 1n) ** 2n) << 10n);
        }
      }),
    );
  });
});

describe('members', () => {
  const parse = (json: Json): unknown => {
    const { kind: name, ...members } = json;
    const kind = netOptimizers[String(name)]!;
    return kind.parse(new JsonReader(members, 'optimizer', kind.members));
  };

  it('are written out with their defaults', () => {
    expect(parse({ kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: flat })).toEqual({
      ...{ beta1: [13, 7], beta2: [1, 10], c1: 8, c2: 10, u: 12, eps: 1, gq: 12, hbits: 21, lr: flat },
    });
    expect(parse({ kind: 'sgd', lr: flat })).toEqual({ gq: 12, hbits: 21, lr: flat });
  });

  it.each([
    ['an odd c2', { kind: 'adamw', beta1: [1, 1], beta2: [1, 1], c2: 9, lr: flat }],
    ['b above 2^q', { kind: 'adamw', beta1: [3, 1], beta2: [1, 1], lr: flat }],
    ['b of 0', { kind: 'sgd', momentum: [0, 1], lr: flat }],
  ])('%s: refused', (_, json) => {
    expect(() => parse(json)).toThrow('MANIFEST_OPTIMIZER');
  });

  it.each([
    ['no beta2', 'MANIFEST_MISSING_FIELD', { kind: 'adamw', beta1: [1, 1], lr: flat }],
    ['no lr', 'MANIFEST_MISSING_FIELD', { kind: 'sgd' }],
    ['an unknown member', 'MANIFEST_UNKNOWN_FIELD', { kind: 'sgd', lr: flat, nesterov: true }],
    ['an unknown member of lr', 'MANIFEST_UNKNOWN_FIELD', { kind: 'sgd', lr: { ...flat, warmup: 1 } }],
    ['hbits of 1', 'MANIFEST_RANGE', { kind: 'sgd', lr: flat, hbits: 1 }],
  ])('%s: refused', (_, code, json) => {
    expect(() => parse(json)).toThrow(code);
  });
});

describe('the most that a step moves', () => {
  it('is not passed by any element of adamw', () => {
    const kind = netOptimizers.adamw!;
    const value = fc.bigInt({ min: -(2n ** 31n), max: 2n ** 31n });
    const gradient = fc.bigInt({ min: -(2n ** 40n), max: 2n ** 40n });
    const rate = fc.integer({ min: 0, max: 2 ** 20 });
    const decay = fc.integer({ min: 0, max: 2 ** 20 });
    fc.assert(
      fc.property(value, gradient, rate, decay, fc.nat(2 ** 20), (W, D, step, by, m2) => {
        const json = { beta1: [13, 7], beta2: [1, 10], decay: by, lr: { frac: 24, points: [[0, step]] } };
        const optimizer = kind.parse(new JsonReader(json, 'optimizer', kind.members));
        const one = moved([1, 1], [D], { W: [W], state: [[0n], [BigInt(m2)]] });
        const next = kind.update(optimizer, [one], 0)[0]!.W[0]!;
        const size = (x: bigint): bigint => (x < 0n ? -x : x);
        const most = kind.moveMax!(optimizer, one.parameter, 0);
        expect(size(next) <= size(W) + most || most >= 2n ** 31n).toBe(true);
      }),
    );
  });
});
