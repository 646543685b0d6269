/** How tests lie in the flow: pads changed, and what a lie must be to vanish where every challenge is known in advance. */
import { vi } from 'vitest';
import { extAt, setExt } from '../commit/arrays.js';
import { extFromDigest } from '../commit/field/bytes.js';
import * as F from '../commit/field/extension.js';
import { eqIndex } from '../commit/field/multilinear.js';
import type { Cells } from '../prover/cells.js';
import * as mask from '../prover/mask.js';
import type { Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import { freezeChallenges, frozenChallenge, type FlowEvent } from './lies.js';

/** Number of the message after the first draw of a site. */
export function firstDraw(events: readonly FlowEvent[], site: Site): number {
  const draws = events.flatMap((event) => (event.kind === 'challenge' && event.site === site ? [event.message] : []));
  return draws[0]!;
}

/** The shift by which an error vanishes, with every challenge known in advance; the error grows evenly with it. */
export function vanishingShift(errorWith: (shift: F.Ext) => F.Ext): F.Ext {
  const thaw = freezeChallenges();
  const start = errorWith(F.ZERO);
  const slope = F.sub(errorWith(F.ONE), start);
  thaw();
  return F.neg(F.mul(start, F.inverse(slope)));
}

/** Changes pads and what is committed once the key is drawn. */
export function changePads(change: (pads: ReturnType<typeof mask.fillPads>, cells: Cells) => void): void {
  const fill = mask.fillPads;
  vi.spyOn(mask, 'fillPads').mockImplementation((backend, plan, cells, key) => {
    const pads = fill(backend, plan, cells, key);
    change(pads, cells);
    return pads;
  });
}

/**
 * Makes two triples of pads no products, one of them unused, so that their errors cancel under the frozen τ.
 *
 * @returns what sets the error of the first
 */
export function bendTriples({ messages: { slotVars } }: Plan): (by: F.Ext) => void {
  const slots = 2 ** slotVars;
  const tau = Array.from({ length: slotVars }, (_, k) => extFromDigest(frozenChallenge('tau', k)));
  const ratio = F.neg(F.mul(eqIndex(tau, 0), F.inverse(eqIndex(tau, slots - 1))));
  let first = F.ZERO;
  changePads((pads, cells) => {
    const block = cells.block('S', 'pad');
    const add = (slot: number, value: F.Ext): void => {
      const pad = 2 * slots + slot;
      setExt(pads, pad, F.add(extAt(pads, pad), value));
      block[pad] = pads[2 * pad]!;
      block[pads.length / 2 + pad] = pads[2 * pad + 1]!;
    };
    add(0, first);
    add(slots - 1, F.mul(first, ratio));
  });
  return (by) => {
    first = by;
  };
}
