/** Masked messages, products of hidden values and sumchecks in mean form (libs/zk/SPEC.md §6). */
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { placedBlock, type PlacedBlock, type Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import type { Transcript } from '../transcript/transcript.js';
import { constant, minus, ofClaim, ofPad, plus, times, unmasked, type Axis, type LinearForm } from './linear-form.js';
import type { ProofSource } from './source.js';

interface Product {
  readonly x: LinearForm;
  readonly y: LinearForm;
  readonly xy: LinearForm;
}

/** A sumcheck's end: the random point and the form that h must have there. */
interface Reduced {
  readonly point: Point;
  readonly claim: LinearForm;
}

export class MaskedProtocol {
  /** Forms that must be zero, in the order in which η combines them. */
  readonly constraints: LinearForm[] = [];
  readonly #slots: number;
  readonly #padsMax: number;
  #nextSlot = 0;
  #nextPad: number;
  readonly #blocks = new Map<string, PlacedBlock>();

  /** @param superblocks of the committed data, in the order in which the segments read them */
  constructor(
    readonly plan: Plan,
    readonly transcript: Transcript,
    readonly source: ProofSource,
    readonly superblocks: readonly number[] = [],
  ) {
    this.#slots = 2 ** plan.messages.slotVars;
    this.#padsMax = 2 ** plan.messages.padVars;
    this.#nextPad = 3 * this.#slots;
  }

  challenge(site: Site): Ext {
    return this.transcript.challenge(site);
  }

  require(form: LinearForm): void {
    this.constraints.push(form);
  }

  /** A claim on a block with one axis per dimension. */
  cell(tree: DataTree, name: string, ...axes: readonly Axis[]): LinearForm {
    const key = `${tree}.${name}`;
    let block = this.#blocks.get(key);
    if (block === undefined) {
      block = placedBlock(this.plan, tree, name);
      this.#blocks.set(key, block);
    }
    return ofClaim({ kind: 'block', block, axes });
  }

  /** The next message, minus its pad. */
  receive(): LinearForm {
    if (this.#nextPad >= this.#padsMax) throw new RangeError('the plan has too few pads');
    return this.#unmask(this.#nextPad++);
  }

  receiveClear(): Ext {
    const value = this.source.clear();
    this.transcript.absorbExt(value);
    return value;
  }

  /**
   * x·y through the next committed triple A·B = C: the proof sends x + A and y + B. Where x or y is itself a form, the
   * constraint that ties it to what was sent is required.
   */
  multiply(x?: LinearForm, y?: LinearForm): Product {
    const slot = this.#nextSlot++;
    if (slot >= this.#slots) throw new RangeError('the plan has too few product slots');
    const [a, b, c] = [slot, this.#slots + slot, 2 * this.#slots + slot];
    const sentX = this.#unmask(a);
    const sentY = this.#unmask(b);
    if (x !== undefined) this.require(minus(x, sentX));
    if (y !== undefined) this.require(minus(y, sentY));
    const [maskedX, maskedY] = [sentX.constant, sentY.constant];
    const xy = plus(
      constant(F.mul(maskedX, maskedY)),
      times(ofPad(b), F.neg(maskedX)),
      times(ofPad(a), F.neg(maskedY)),
      ofPad(c),
    );
    return { x: sentX, y: sentY, xy };
  }

  /**
   * Reduces `claim` = Σ_x eq(point, x)·h(x), h of degree ≤ 2 in each variable, to h at a random point. A point of
   * halves makes it the mean of h.
   */
  sumcheck(point: Point, claim: LinearForm): Reduced {
    const challenges: Ext[] = [];
    const parts = [claim];
    for (const coordinate of point) {
      const d = this.receive();
      const e = this.receive();
      const rho = this.challenge('maskedRound');
      parts.push(times(d, F.sub(rho, coordinate)), times(e, F.sub(F.square(rho), rho)));
      challenges.push(rho);
    }
    return { point: challenges, claim: plus(...parts) };
  }

  #unmask(pad: number): LinearForm {
    const masked = this.source.masked(pad);
    this.transcript.absorbExt(masked);
    return unmasked(masked, pad);
  }
}
