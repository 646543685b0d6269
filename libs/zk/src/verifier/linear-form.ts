/**
 * What the verifier knows about a hidden value: a linear form over the committed pads and over claims on committed data
 * (SPEC §6). Linear forms are added and scaled, nothing else.
 */
import * as F from '../field/extension.js';
import type { Ext } from '../field/extension.js';
import type { Point } from '../field/multilinear.js';
import type { DataTree } from '../relation/blocks.js';
import type { PlacedBlock } from '../relation/plan.js';

/** Weights over one dimension of a block: eq at a point, or explicit. */
export type Axis = { readonly point: Point } | { readonly weights: readonly Ext[] };

/** A public linear functional of committed data. */
export type Claim =
  | { readonly kind: 'block'; readonly block: PlacedBlock; readonly axes: readonly Axis[] }
  | { readonly kind: 'ood'; readonly tree: DataTree; readonly z: Ext };

export interface LinearForm {
  readonly constant: Ext;
  /** [index of the pad, coefficient]; an index may occur more than once. */
  readonly pads: readonly (readonly [number, Ext])[];
  readonly claims: readonly (readonly [Claim, Ext])[];
}

export function constant(value: Ext): LinearForm {
  return { constant: value, pads: [], claims: [] };
}

export const zeroForm = constant(F.ZERO);

export function ofClaim(claim: Claim): LinearForm {
  return { constant: F.ZERO, pads: [], claims: [[claim, F.ONE]] };
}

export function ofPad(index: number): LinearForm {
  return { constant: F.ZERO, pads: [[index, F.ONE]], claims: [] };
}

export function plus(...forms: readonly LinearForm[]): LinearForm {
  return {
    constant: F.sum(forms.map((form) => form.constant)),
    pads: forms.flatMap((form) => form.pads),
    claims: forms.flatMap((form) => form.claims),
  };
}

export function times(form: LinearForm, factor: Ext): LinearForm {
  return {
    constant: F.mul(form.constant, factor),
    pads: form.pads.map(([index, coefficient]) => [index, F.mul(coefficient, factor)]),
    claims: form.claims.map(([claim, coefficient]) => [claim, F.mul(coefficient, factor)]),
  };
}

export function minus(a: LinearForm, b: LinearForm): LinearForm {
  return plus(a, times(b, F.neg(F.ONE)));
}

/** Σ factor^k·forms_k. */
export function powerSum(forms: readonly LinearForm[], factor: Ext): LinearForm {
  let power = F.ONE;
  const scaled = forms.map((form) => {
    const term = times(form, power);
    power = F.mul(power, factor);
    return term;
  });
  return plus(...scaled);
}
