/** The combined weights Ω of libs/zk/SPEC.md §7 F7 on the whole hypercube. */
import { extArray, extView } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { powers } from '../commit/field/multilinear.js';
import { placedBlock, type PlacedBlock, type Plan } from '../relation/plan.js';
import type { CombinedClaim } from '../verifier/flow/pads.js';
import type { Axis, Claim } from '../verifier/linear-form.js';
import type { Backend, TensorTerm } from './backend.js';

export function omegaVector(backend: Backend, plan: Plan, combined: CombinedClaim): ExtArray {
  const omega = backend.ext(2 ** plan.vars);
  const ofBlock = new Map<number, BlockClaims>();
  for (const [claim, coefficient] of combined.claims) {
    if (claim.kind === 'ood') addOutOfDomain(backend, plan, omega, claim, coefficient);
    else {
      const known = ofBlock.get(claim.block.offset) ?? { block: claim.block, claims: [] };
      known.claims.push({ axes: claim.axes, coefficient });
      ofBlock.set(claim.block.offset, known);
    }
  }
  for (const { block, claims } of ofBlock.values()) {
    const mark = backend.mark();
    const terms = claims.map(({ axes, coefficient }) => tensorTerm(backend, block, axes, coefficient));
    backend.addTensors(extView(omega, block.offset, 2 ** block.vars), terms);
    backend.release(mark);
  }
  const block = placedBlock(plan, 'S', 'pad');
  const pads = extArray(combined.pads);
  const count = combined.pads.length;
  backend.addScaled(extView(omega, block.offset, count), pads, F.ONE);
  backend.addScaled(extView(omega, block.offset + count, count), pads, F.X);
  return omega;
}

interface BlockClaims {
  readonly block: PlacedBlock;
  readonly claims: { readonly axes: readonly Axis[]; readonly coefficient: Ext }[];
}

/** z^{k·2^m + j} on the k-th stored row; neighbouring rows in one go. */
function addOutOfDomain(
  backend: Backend,
  plan: Plan,
  omega: ExtArray,
  { tree, z }: Extract<Claim, { kind: 'ood' }>,
  coefficient: Ext,
): void {
  const length = 2 ** plan.profile.m;
  const { globalRows } = plan.trees[tree];
  const step = F.pow(z, BigInt(length));
  const factors = powers(step, globalRows.length).map((power) => F.mul(coefficient, power));
  const mark = backend.mark();
  const b = backend.powers(z, length);
  for (let first = 0, end = 0; first < globalRows.length; first = end) {
    for (end = first + 1; globalRows[end] === globalRows[end - 1]! + 1;) end++;
    const target = extView(omega, globalRows[first]! * length, (end - first) * length);
    backend.addTensors(target, [{ a: extArray(factors.slice(first, end)), b }]);
  }
  backend.release(mark);
}

/** Blocks of one dimension above this size are cut in the middle of their variables. */
const wholeVarsMax = 8;

/** The axes of a claim as a product of two tables: the last axis, and all before it times the coefficient. */
function tensorTerm(backend: Backend, block: PlacedBlock, axes: readonly Axis[], coefficient: Ext): TensorTerm {
  if (axes.length === 1 && block.vars > wholeVarsMax && 'point' in axes[0]!) {
    const { point } = axes[0];
    const cut = point.length >> 1;
    return { a: backend.eqTable(point.slice(0, cut), coefficient), b: backend.eqTable(point.slice(cut), F.ONE) };
  }
  return { a: axesTable(backend, axes.slice(0, -1), coefficient), b: axisTable(backend, axes.at(-1)!) };
}

function axisTable(backend: Backend, axis: Axis): ExtArray {
  return 'point' in axis ? backend.eqTable(axis.point, F.ONE) : extArray(axis.weights);
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
  for (const axis of axes) table = backend.outer(table, axisTable(backend, axis));
  return table;
}
