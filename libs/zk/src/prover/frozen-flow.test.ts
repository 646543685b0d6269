/**
 * What the challenges of the flow are good for, site by site. A false statement is carried by one shifted message, sent
 * before the challenge is drawn. With every challenge known in advance it is accepted; with this one drawn from the
 * transcript, and every other still known, it is not.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { extAt, setExt } from '../commit/arrays.js';
import { extFromDigest } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import { eqIndex, type Point } from '../commit/field/multilinear.js';
import { createEngine } from '../commit/kernels/index.js';
import { freezeChallenges, frozenChallenge, runFlow, verdict, type FlowEvent } from '../testing/lies.js';
import { testManifest, testProfile, testSegment } from '../testing/segments.js';
import { SITE, type Site } from '../transcript/sites.js';
import type { SegmentWitness } from './execute.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { countLookups } from './multiplicities.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const seed = `0x${'55'.repeat(32)}`;
const segment = testSegment(backend, { manifest: testManifest({ dims: [3, 4, 3], superblock: 2, seed }), profile });
const { plan } = segment;
const { events } = runFlow(backend, segment);

afterEach(() => vi.restoreAllMocks());

/** A limb that is out of range by one high unit; the rounding relation still holds. */
function wrongLimb({ witness, ...rest }: SegmentWitness): void {
  witness.get('l1')![0]! += 2 ** (plan.shape.layers[0]!.forwardShift - 16);
  witness.get('h1')![0]! -= 1;
  for (const [name, counts] of countLookups(backend, plan.shape, { witness, ...rest })) witness.set(name, counts);
}

const firstDraw = (site: Site): number => {
  const event = events.find((known) => known.kind === 'challenge' && known.site === site);
  return (event as Extract<FlowEvent, { kind: 'challenge' }>).message;
};
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
  ['gkrLambda', firstDraw('gkrLambda') - 1],
  ['maskedRound', firstDraw('maskedRound') - 2],
  ['gkrMu', firstDraw('gkrMu') - 1],
  ['gammaProducts', quotient],
  ['gammaMatmuls', virtual[0]!.message + 1],
  ['gammaClasses', quotient - 2],
  ['gammaUpdates', virtual.at(-1)!.message + 1],
  ['eta', firstDraw('eta') - 1],
];

describe('a message that carries a false statement', () => {
  it.each(messages)('meets %s', (site, message) => {
    expect(message).toBeLessThan(firstDraw(site));
    let thaw = freezeChallenges();
    const errorWith = (shift: F.Ext): F.Ext =>
      runFlow(backend, segment, { lies: new Map([[message, shift]]), forge: wrongLimb }).combined;
    const start = errorWith(F.ZERO);
    expect(F.equal(start, F.ZERO)).toBe(false);
    const shift = F.neg(F.mul(start, F.inverse(F.sub(errorWith(F.ONE), start))));
    const lies = new Map([[message, shift]]);
    expect(verdict(backend, segment, lies, wrongLimb)).toBe('accepted');
    thaw();
    thaw = freezeChallenges(site);
    expect(verdict(backend, segment, lies, wrongLimb)).toBe('STEP_FINAL_CHECK');
    thaw();
    expect(verdict(backend, segment, lies, wrongLimb)).toBe('STEP_FINAL_CHECK');
  });

  it('meets τ: two triples that are no products, one of them unused', () => {
    const fill = mask.fillPads;
    const slots = 2 ** plan.messages.slotVars;
    let change = F.ZERO;
    const bend = (ratio: F.Ext): void => {
      vi.spyOn(mask, 'fillPads').mockImplementation((engine, of, cells, key) => {
        const pads = fill(engine, of, cells, key);
        const block = cells.block('S', 'pad');
        const add = (slot: number, value: F.Ext): void => {
          const pad = 2 * slots + slot;
          setExt(pads, pad, F.add(extAt(pads, pad), value));
          block[pad] = pads[2 * pad]!;
          block[pads.length / 2 + pad] = pads[2 * pad + 1]!;
        };
        add(0, change);
        add(slots - 1, F.mul(change, ratio));
        return pads;
      });
    };
    let thaw = freezeChallenges();
    const tau: Point = Array.from({ length: plan.messages.slotVars }, (_, k) =>
      extFromDigest(frozenChallenge('tau', k)),
    );
    bend(F.neg(F.mul(eqIndex(tau, 0), F.inverse(eqIndex(tau, slots - 1)))));
    const errorWith = (value: F.Ext): F.Ext => {
      change = value;
      return runFlow(backend, segment, { forge: wrongLimb }).combined;
    };
    const start = errorWith(F.ZERO);
    change = F.neg(F.mul(start, F.inverse(F.sub(errorWith(F.ONE), start))));
    expect(verdict(backend, segment, new Map(), wrongLimb)).toBe('accepted');
    thaw();
    thaw = freezeChallenges('tau');
    expect(verdict(backend, segment, new Map(), wrongLimb)).toBe('STEP_FINAL_CHECK');
    thaw();
  });

  it('is shown for every site of the flow but the point outside the domain', () => {
    const sites = new Set(events.flatMap((event) => (event.kind === 'challenge' ? [event.site] : [])));
    const shown = new Set([...messages.map(([site]) => site), 'tau', 'oodS']);
    expect([...sites].sort()).toEqual([...shown].sort());
    expect(Object.keys(SITE)).toEqual(expect.arrayContaining([...sites]));
  });
});
