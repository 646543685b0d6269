import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { initialWeights, profileManifest, stepReference, wordStream, type Manifest, type Weights } from './index.js';

/** Two layers of softmax training in one breath on float64 numbers, indices written out: shares no code with the ops. */
function direct(m: Manifest, weights: Weights, features: Uint8Array, labels: Uint8Array): number[][] {
  const [n, h, C] = m.dims as [number, number, number];
  const [a, g, e, B] = [m.a[1]!, m.g[0]!, m.e[0]!, m.batch];
  const [W1, b1, W2, b2] = weights.map(({ values }) => Array.from(values, Number)) as [
    number[],
    number[],
    number[],
    number[],
  ];
  const next = [[...W1], [...b1], [...W2], [...b2]];
  const round = (x: number, s: number) => Math.floor(x / 2 ** s + 0.5);
  for (let r = 0; r < B; r++) {
    const x = features.subarray(r * n, (r + 1) * n);
    const y1 = b1.map((b, j) => {
      const z = x.reduce((sum, xi, i) => sum + xi * W1[i * h + j]!, 0);
      return round(z + 2 ** 16 * b, 16 + g + e - a);
    });
    const top = 2 ** m.abits - 1;
    const a1 = y1.map((y) => Math.max(0, Math.min(top, y)));
    const y2 = b2.map((b, c) => round(a1.reduce((sum, v, j) => sum + v * W2[j * C + c]!, 0) + 4 ** a * b, a + g + e));
    const largest = Math.max(...y2);
    const scaled = y2.map((y) => Math.floor(2 ** g * Math.exp((y - largest) / 2 ** a) + 0.5));
    const reciprocal = Math.floor(2 ** (g + 16) / scaled.reduce((sum, v) => sum + v, 0));
    const g2 = scaled.map((v, c) => round(v * reciprocal, 16) - (labels[r] === c ? 2 ** g : 0));
    for (let j = 0; j < h; j++) {
      const back = round(
        g2.reduce((sum, v, c) => sum + v * W2[j * C + c]!, 0),
        a + g + e,
      );
      const g1 = y1[j]! > 0 && y1[j]! < top ? back : 0;
      x.forEach((xi, i) => (next[0]![i * h + j]! -= xi * g1));
      next[1]![j]! -= g1;
      g2.forEach((v, c) => (next[2]![j * C + c]! -= a1[j]! * v));
    }
    g2.forEach((v, c) => (next[3]![c]! -= v));
  }
  return next;
}

describe('reference against a direct computation', () => {
  it('agrees on random two-layer nets of every profile', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('fx1', 'fx1s', 'fx1w'),
        fc.tuple(fc.integer({ min: 2, max: 9 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 2, max: 5 })),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 4, max: 8 }),
        fc.nat(),
        (profile, dims, batch, e, salt) => {
          const seed = `0x${salt.toString(16).padStart(64, '0')}`;
          const m = profileManifest(profile, { dims, batch, e, steps: 1, seed });
          const word = wordStream('test/direct', seed);
          const features = Uint8Array.from({ length: batch * dims[0] }, (_, i) => Number(word(i) >> 56n));
          const labels = Uint8Array.from({ length: batch }, (_, i) => Number(word(1000 + i) % BigInt(dims[2])));
          const weights = initialWeights(m);
          const stepped = stepReference(m, weights, { count: batch, features, labels }, 0).weights;
          expect(stepped.map(({ values }) => Array.from(values, Number))).toEqual(
            direct(m, weights, features, labels).map((values) => values.map((v) => (v === 0 ? 0 : v))),
          );
        },
      ),
      { numRuns: 150 },
    );
  });
});
