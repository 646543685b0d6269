/**
 * What the verifier knows about a hidden value: a linear form over the committed pads and over claims on committed data
 * (libs/zk/SPEC.md §6). Linear forms are added and scaled, nothing else.
 */
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { DataTree } from '../commit/layout/blocks.js';
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

const minusOne = F.neg(F.ONE);

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

/** What was sent, minus its pad. */
export function unmasked(masked: Ext, pad: number): LinearForm {
  return { constant: masked, pads: [[pad, minusOne]], claims: [] };
}

export function plus(...forms: readonly LinearForm[]): LinearForm {
  let total = F.ZERO;
  const pads: LinearForm['pads'][number][] = [];
  const claims: LinearForm['claims'][number][] = [];
  for (const form of forms) {
    total = F.add(total, form.constant);
    for (const pad of form.pads) pads.push(pad);
    for (const claim of form.claims) claims.push(claim);
  }
  return { constant: total, pads, claims };
}

export function times(form: LinearForm, factor: Ext): LinearForm {
  return {
    constant: F.mul(form.constant, factor),
    pads: form.pads.map(([index, coefficient]) => [index, F.mul(coefficient, factor)]),
    claims: form.claims.map(([claim, coefficient]) => [claim, F.mul(coefficient, factor)]),
  };
}

export function minus(a: LinearForm, b: LinearForm): LinearForm {
  return plus(a, negated(b));
}

export const power = (bits: number): Ext => F.fromInteger(1n << BigInt(bits));
export const integer = (value: number | bigint): LinearForm => constant(F.fromInteger(value));
export const shifted = (form: LinearForm, bits: number): LinearForm => times(form, power(bits));

/** An error as a 16-bit entry, and as one of `bits` bits where it is known to be an integer. */
export const asError = (error: LinearForm): LinearForm => plus(error, integer(2 ** 15));
export const asNarrowError = (error: LinearForm, bits: number): LinearForm =>
  shifted(plus(error, integer(2 ** (bits - 1))), 16 - bits);

function negated({ constant: value, pads, claims }: LinearForm): LinearForm {
  return {
    constant: F.neg(value),
    pads: pads.map(([index, coefficient]) => [index, F.neg(coefficient)]),
    claims: claims.map(([claim, coefficient]) => [claim, F.neg(coefficient)]),
  };
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
