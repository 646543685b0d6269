/**
 * The combined weights Ω of libs/zk/SPEC.md §7 F7, evaluated at one point of the global hypercube
 * (libs/zk/SPEC.md §9.3).
 */
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { dot, eq, eqIndex, eqTable, powerWeight, type Point } from '../commit/field/multilinear.js';
import { placedBlock, type PlacedBlock, type Plan } from '../relation/plan.js';
import type { CombinedClaim } from './flow/pads.js';
import type { Axis, Claim } from './linear-form.js';

/** eq of so many coordinates of the point from one of them on. */
type Tables = (start: number, count: number) => readonly Ext[];

export function omegaAt(plan: Plan, combined: CombinedClaim, point: Point): Ext {
  const tables = tablesOf(point);
  const terms = combined.claims.map(([claim, coefficient]) => F.mul(coefficient, claimAt(plan, claim, point, tables)));
  return F.add(F.sum(terms), padsAt(plan, combined.pads, point));
}

/** Each is made once: many claims weigh the same dimension of blocks of one size. */
function tablesOf(point: Point): Tables {
  const known = new Map<string, readonly Ext[]>();
  return (start, count) => {
    const key = `${start} ${count}`;
    const table = known.get(key) ?? eqTable(point.slice(start, start + count));
    known.set(key, table);
    return table;
  };
}

function claimAt(plan: Plan, claim: Claim, point: Point, tables: Tables): Ext {
  switch (claim.kind) {
    case 'block':
      return blockAt(claim.block, claim.axes, point, tables);
    case 'ood': {
      const { m } = plan.profile;
      const rows = tables(0, plan.rowVars);
      const rowPower = F.pow(claim.z, 1n << BigInt(m));
      let power = F.ONE;
      let total = F.ZERO;
      for (const row of plan.trees[claim.tree].globalRows) {
        total = F.add(total, F.mul(power, rows[row]!));
        power = F.mul(power, rowPower);
      }
      return F.mul(total, powerWeight(claim.z, point.slice(plan.rowVars)));
    }
  }
}

function blockAt(block: PlacedBlock, axes: readonly Axis[], point: Point, tables: Tables): Ext {
  let result = selector(block, point);
  let start = point.length - block.vars;
  block.dims.forEach((vars, dimension) => {
    const axis = axes[dimension]!;
    const weight =
      'point' in axis ? eq(axis.point, point.slice(start, start + vars)) : dot(axis.weights, tables(start, vars));
    result = F.mul(result, weight);
    start += vars;
  });
  return result;
}

function selector(block: PlacedBlock, point: Point): Ext {
  return eqIndex(point.slice(0, point.length - block.vars), block.offset / 2 ** block.vars);
}

/** Pads lie as real parts, then X-parts: the second half weighs X times the coefficient. */
function padsAt(plan: Plan, pads: readonly Ext[], point: Point): Ext {
  const block = placedBlock(plan, 'S', 'pad');
  const own = point.slice(point.length - block.vars);
  const part = F.add(F.sub(F.ONE, own[0]!), F.mul(own[0]!, F.X));
  return F.mul(F.mul(selector(block, point), part), dot(pads, eqTable(own.slice(1))));
}
