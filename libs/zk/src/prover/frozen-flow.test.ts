/**
 * What the challenges of the flow are good for, site by site. A false statement is carried by one shifted message, sent
 * before the challenge is drawn. With every challenge known in advance it is accepted; with this one drawn from the
 * transcript, and every other still known, it is not.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as F from '../commit/field/extension.js';
import { createEngine } from '../commit/kernels/index.js';
import { bendTriples, firstDraw, vanishingShift } from '../testing/flow-lies.js';
import { runFlow, verdict, verdictsAround, type Lies } from '../testing/lies.js';
import { wrongLimb } from '../testing/opening-lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import { SITE, type Site } from '../transcript/sites.js';
import { KernelBackend } from './kernel-backend.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const seed = `0x${'55'.repeat(32)}`;
const segment = testSegment(backend, { manifest: testManifest({ dims: [3, 4, 3], superblock: 2, seed }), profile });
const { plan } = segment;
const { events } = runFlow(backend, segment);

afterEach(() => vi.restoreAllMocks());

const limb = wrongLimb(backend, segment);
const products = events.flatMap((event) => (event.kind === 'product' ? [event] : []));
const leaf = products.findIndex(({ defined }) => defined[0] && defined[1]);
/** Products with one virtual factor: M ⊙ H of F3, then those of F4. */
const virtual = products.slice(leaf).filter(({ defined }) => defined[0] && !defined[1]);
/** The last hidden value of F2, ι ⊙ S; two before it the last piece's logits. */
const quotient = products[leaf]!.message - 1;

/** A message before the first draw of the site whose part in the claim the challenge decides. */
const messages: readonly (readonly [Site, number])[] = [
  ['alpha', 0],
  ['beta', 0],
  ['gkrLambda', firstDraw(events, 'gkrLambda') - 1],
  ['maskedRound', firstDraw(events, 'maskedRound') - 2],
  ['gkrMu', firstDraw(events, 'gkrMu') - 1],
  ['gammaProducts', quotient],
  ['gammaMatmuls', virtual[0]!.message + 1],
  ['gammaClasses', quotient - 2],
  ['gammaUpdates', virtual.at(-1)!.message + 1],
  ['eta', firstDraw(events, 'eta') - 1],
];

function expectMeets(site: Site, lies: Lies): void {
  const verdicts = verdictsAround(site, () => verdict(backend, segment, lies, limb));
  expect(verdicts).toEqual(['accepted', 'STEP_FINAL_CHECK', 'STEP_FINAL_CHECK']);
}

const combined = (lies: Lies): F.Ext => runFlow(backend, segment, { lies, forge: limb }).combined;

describe('a message that carries a false statement', () => {
  it.each(messages)('meets %s', (site, message) => {
    expect(message).toBeLessThan(firstDraw(events, site));
    const shift = vanishingShift((by) => combined(new Map([[message, by]])));
    expect(F.equal(shift, F.ZERO)).toBe(false);
    expectMeets(site, new Map([[message, shift]]));
  });

  it('meets τ: two triples that are no products, one of them unused', () => {
    const bend = bendTriples(plan);
    const change = vanishingShift((by) => {
      bend(by);
      return combined(new Map());
    });
    bend(change);
    expectMeets('tau', new Map());
  });

  it('is shown for every site of the flow but the point outside the domain', () => {
    const sites = new Set(events.flatMap((event) => (event.kind === 'challenge' ? [event.site] : [])));
    const shown = new Set([...messages.map(([site]) => site), 'tau', 'oodS']);
    expect([...sites].sort()).toEqual([...shown].sort());
    expect(Object.keys(SITE)).toEqual(expect.arrayContaining([...sites]));
  });
});
