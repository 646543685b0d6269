/**
 * What the challenges of the flow are good for in a statement about a set of records, site by site, as
 * frozen-flow.test.ts shows of a segment: one record more than there are is accepted with every challenge known in
 * advance, and refused with this one drawn. The opening is that of a segment (frozen-challenge.test.ts).
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as F from '../commit/field/extension.js';
import { inverse, mul, P, pow, sub } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import {
  constantLogits,
  countFlow,
  countVerdict,
  testCount,
  testRecords,
  withLabels,
  type Deceit,
} from '../testing/accuracy.js';
import { bendTriples, changePads, firstDraw, vanishingShift } from '../testing/flow-lies.js';
import { freezeChallenges, verdictsAround } from '../testing/lies.js';
import { testManifest, testProfile } from '../testing/segments.js';
import { SITE, type Site } from '../transcript/sites.js';
import { KernelBackend } from './kernel-backend.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const manifest = testManifest({ dims: [3, 4, 3] });
/** Class 0 is the largest everywhere, and no record is of it. */
const weights = constantLogits(manifest, [4096n, 2048n, 0n]);
const examples = withLabels(testRecords(manifest, 5), [1, 2, 1, 2, 1]);
const count = testCount(backend, { profile, weights, examples });
const { plan } = count;
const { samples } = plan.shape;
const { events } = countFlow(backend, count, {});

afterEach(() => vi.restoreAllMocks());

/** Z_L of the last class piece, and of the one before: the last hidden values before the products of the leaves. */
const leaf = events.flatMap((event) => (event.kind === 'product' ? [event] : [])).find(({ defined }) => defined[0])!;
const lastLogits = leaf.message - 1;

const oneMore: Deceit = { claim: 1 };
/** The same record shown by a distance below 0, which no table has. */
const outOfRange: Deceit = {
  claim: 1,
  forge: ({ witness }) => {
    const [YL, v, q] = ['YL', 'v', 'q'].map((name) => witness.get(name)!) as [Float64Array, Float64Array, Float64Array];
    witness.get('sel')![samples]! = 1;
    v[0] = YL[samples]!;
    for (const c of [0, 1, 2]) q[c * samples] = v[0]! - YL[c * samples]! - (c === 0 ? 1 : 0);
  },
};
/** An activation that no table has. */
const wrongActivation: Deceit = { forge: ({ witness }) => void (witness.get('A1')![0]! += 1) };

/** A message before the first draw of the site whose part in the claim the challenge decides. */
const messages: readonly (readonly [Site, number, Deceit])[] = [
  ['alpha', 0, outOfRange],
  ['beta', 0, wrongActivation],
  ['gkrLambda', firstDraw(events, 'gkrLambda') - 1, outOfRange],
  ['maskedRound', firstDraw(events, 'maskedRound') - 2, oneMore],
  ['gkrMu', firstDraw(events, 'gkrMu') - 1, oneMore],
  ['gammaMatmuls', lastLogits - 1, oneMore],
  ['gammaClasses', lastLogits, oneMore],
  ['eta', firstDraw(events, 'eta') - 1, oneMore],
];

function expectMeets(site: Site, deceit: Deceit): void {
  const verdicts = verdictsAround(site, () => countVerdict(backend, count, deceit));
  expect(verdicts).toEqual(['accepted', 'STEP_FINAL_CHECK', 'STEP_FINAL_CHECK']);
}

const combined = (deceit: Deceit): F.Ext => countFlow(backend, count, deceit).combined;

describe('one record too many', () => {
  it.each(messages)('meets %s', (site, message, deceit) => {
    expect(message).toBeLessThan(firstDraw(events, site));
    const shiftedBy = (shift: F.Ext): Deceit => ({ ...deceit, lies: new Map([[message, shift]]) });
    const shift = vanishingShift((by) => combined(shiftedBy(by)));
    expect(F.equal(shift, F.ZERO)).toBe(false);
    expectMeets(site, shiftedBy(shift));
  });

  it('meets τ: two triples that are no products, one of them unused', () => {
    const bend = bendTriples(plan);
    const change = vanishingShift((by) => {
      bend(by);
      return combined({ claim: 1 });
    });
    bend(change);
    expectMeets('tau', { claim: 1 });
  });

  it('meets γ of the products: selectors of records that only fill the batch up make up for a false one', () => {
    // The first record counts although its label is below the bound; its selector times q is not 0.
    const forge: Deceit['forge'] = ({ witness }) => {
      witness.get('sel')![samples]! = 1;
      witness.get('v')![0]! += 1;
      for (const c of [1, 2]) witness.get('q')![c * samples]! += 1;
    };
    const squares = new Map<number, bigint>();
    // Class 0 is largest and no label: a selector s there adds s² to the products and touches nothing else.
    changePads((_pads, cells) => {
      const sel = cells.block('S', 'sel');
      for (const [sample, square] of squares) sel[sample] = rootOf(square)!;
    });
    const thaw = freezeChallenges();
    const errorWith = (values: readonly (readonly [number, bigint])[]): F.Ext => {
      squares.clear();
      for (const [sample, value] of values) squares.set(sample, value);
      return combined({ claim: 1, forge });
    };
    const start = errorWith([]);
    const [a, b, c] = [5, 6, 7].map((sample) => F.sub(errorWith([[sample, 1n]]), start)) as [F.Ext, F.Ext, F.Ext];
    for (let third = 0n; ; third++) {
      const missing = F.neg(F.add(start, F.scale(c, mul(third, third))));
      const [x, y] = solved(a, b, missing);
      if (rootOf(x) === undefined || rootOf(y) === undefined) continue;
      expect(
        errorWith([
          [5, x],
          [6, y],
          [7, mul(third, third)],
        ]),
      ).toEqual(F.ZERO);
      break;
    }
    thaw();
    expectMeets('gammaProducts', { claim: 1, forge });
  });

  it('is shown for every site of the flow but the point outside the domain', () => {
    const sites = new Set(events.flatMap((event) => (event.kind === 'challenge' ? [event.site] : [])));
    const shown = new Set([...messages.map(([site]) => site), 'tau', 'gammaProducts', 'oodS']);
    expect([...sites].sort()).toEqual([...shown].sort());
    expect(Object.keys(SITE)).toEqual(expect.arrayContaining([...sites]));
  });
});

/** x·a + y·b = value with x and y in the base field. */
function solved(a: F.Ext, b: F.Ext, value: F.Ext): [bigint, bigint] {
  const determinant = inverse(sub(mul(a.c0, b.c1), mul(b.c0, a.c1)));
  const x = mul(sub(mul(value.c0, b.c1), mul(b.c0, value.c1)), determinant);
  const y = mul(sub(mul(a.c0, value.c1), mul(value.c0, a.c1)), determinant);
  return [x, y];
}

/** A square root modulo p by Tonelli and Shanks; p − 1 = 2^32·(2^32 − 1), generator 7. */
function rootOf(value: bigint): bigint | undefined {
  if (value === 0n) return 0n;
  const odd = 2n ** 32n - 1n;
  let [power, root] = [pow(value, odd), pow(value, (odd + 1n) / 2n)];
  if (pow(value, (P - 1n) / 2n) !== 1n) return undefined;
  let [order, unit] = [32, pow(7n, odd)];
  while (power !== 1n) {
    let least = 0;
    for (let square = power; square !== 1n; least++) square = mul(square, square);
    const step = pow(unit, 2n ** BigInt(order - least - 1));
    [order, unit] = [least, mul(step, step)];
    [power, root] = [mul(power, unit), mul(root, step)];
  }
  return root;
}
