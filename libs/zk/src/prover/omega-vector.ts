/** The combined weights Ω of SPEC §7 F7 on the whole hypercube. */
import * as F from '../field/extension.js';
import type { Ext } from '../field/extension.js';
import { placedBlock, type Plan } from '../relation/plan.js';
import type { CombinedClaim } from '../verifier/flow/pads.js';
import type { Axis, Claim } from '../verifier/linear-form.js';
import { extArray, extView } from './arrays.js';
import type { Backend, ExtArray } from './backend.js';

export function omegaVector(backend: Backend, plan: Plan, combined: CombinedClaim): ExtArray {
  const omega = backend.ext(2 ** plan.vars);
  for (const [claim, coefficient] of combined.claims) {
    const mark = backend.mark();
    addClaim(backend, plan, omega, claim, coefficient);
    backend.release(mark);
  }
  const block = placedBlock(plan, 'S', 'pad');
  const pads = extArray(combined.pads);
  const count = combined.pads.length;
  backend.addScaled(extView(omega, block.offset, count), pads, F.ONE);
  backend.addScaled(extView(omega, block.offset + count, count), pads, F.X);
  return omega;
}

function addClaim(backend: Backend, plan: Plan, omega: ExtArray, claim: Claim, coefficient: Ext): void {
  switch (claim.kind) {
    case 'block': {
      const { offset, vars } = claim.block;
      const target = extView(omega, offset, 2 ** vars);
      backend.addScaled(target, axesTable(backend, claim.axes, coefficient), F.ONE);
      return;
    }
    case 'ood': {
      const length = 2 ** plan.profile.m;
      const powers = backend.powers(claim.z, length);
      const step = F.pow(claim.z, BigInt(length));
      let factor = coefficient;
      for (const row of plan.trees[claim.tree].globalRows) {
        backend.addScaled(extView(omega, row * length, length), powers, factor);
        factor = F.mul(factor, step);
      }
      return;
    }
  }
}

/** Outer product of the axes; neighbouring points make one eq table. */
function axesTable(backend: Backend, axes: readonly Axis[], coefficient: Ext): ExtArray {
  if (axes.every((axis) => 'point' in axis)) {
    return backend.eqTable(
      axes.flatMap((axis) => ('point' in axis ? axis.point : [])),
      coefficient,
    );
  }
  let table = extArray([coefficient]);
  for (const axis of axes) {
    table = backend.outer(table, 'point' in axis ? backend.eqTable(axis.point, F.ONE) : extArray(axis.weights));
  }
  return table;
}
