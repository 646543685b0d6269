/**
 * Numerators and denominators of all lookups and table entries, from the verifier's own column forms
 * (libs/zk/SPEC.md §4.3, F2).
 */
import { extView } from '../commit/arrays.js';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import type { DataTree } from '../commit/layout/blocks.js';
import type { LookupBlock } from '../relation/lookups.js';
import { relatedLosses } from '../relation/losses/index.js';
import { placedBlock, type PlacedBlock } from '../relation/plan.js';
import { columnForms, type ColumnValues } from '../verifier/flow/columns.js';
import { ofClaim, type Axis, type Claim, type LinearForm } from '../verifier/linear-form.js';
import type { Backend } from './backend.js';
import type { Cells } from './cells.js';

/** @returns base numerators and extension denominators, 2^nL each */
export function lookupVector(cells: Cells, alpha: Ext, beta: Ext): { p: BaseArray; q: ExtArray } {
  const { plan, backend } = cells;
  const size = 2 ** plan.lookups.vars;
  const p = backend.base(size);
  const q = backend.ext(size);
  const point = new Array<Ext>(plan.lookups.vars - 1).fill(F.ZERO);
  const form = columnForms(symbols(cells), { point, beta }, virtualValues(cells));
  let end = 0;
  for (const block of plan.lookups.blocks) {
    end = block.offset + 2 ** block.vars;
    const target = extView(q, block.offset, 2 ** block.vars);
    const mark = backend.mark();
    if (block.isTable) {
      const counts = cells.block('S', { TR: 'mR', TA: 'mA', TE: 'mE' }[block.kind as 'TR' | 'TA' | 'TE']);
      negate(p.subarray(block.offset, end), counts);
      tableEntries(cells, block, target, alpha, beta);
    } else {
      p.fill(1n, block.offset, end);
      writeColumn(cells, block, target, alpha, form(block));
    }
    backend.release(mark);
  }
  for (let i = end; i < size; i++) q[2 * i] = 1n;
  return { p, q };
}

/** Claims that name a block; the point is of no interest here. */
function symbols(cells: Cells): Parameters<typeof columnForms>[0] {
  const { plan } = cells;
  return {
    plan,
    superblocks: new Array<number>(2 ** plan.shape.segmentVars).fill(0),
    cell: (tree, name, ...axes) => ofClaim({ kind: 'block', block: placedBlock(plan, tree, name), axes }),
  };
}

const virtualMark = '@';

function virtualValues(cells: Cells): ColumnValues {
  const { layers, pieces, loss } = cells.plan.shape;
  const { hidden } = relatedLosses[loss];
  const template = placedBlock(cells.plan, 'S', 'hL');
  const symbol = (name: string): LinearForm => {
    const block: PlacedBlock = { ...template, name: virtualMark + name };
    return ofClaim({ kind: 'block', block, axes: [] });
  };
  const below = layers.slice(0, -1);
  return {
    hiddenZ: below.map(({ layer }) => symbol(`Z${layer}`)),
    maskedH: below.map(({ layer }) => symbol(`MH${layer}`)),
    logitZ: pieces.map(() => symbol('ZL')),
    loss: { pieces: pieces.map(() => hidden.pieces.map(symbol)), rows: hidden.rows.map(symbol) },
  };
}

/** α − f for a whole column. */
function writeColumn(cells: Cells, block: LookupBlock, target: ExtArray, alpha: Ext, form: LinearForm): void {
  const columns = form.claims.map(([claim]) => columnOf(cells, block, claim));
  const coefficients = form.claims.map(([, coefficient]) => F.neg(coefficient));
  cells.backend.combine(target, columns, coefficients, F.sub(alpha, form.constant));
}

/** The cells of a claim's block that a lookup block runs over. */
function columnOf(cells: Cells, block: LookupBlock, claim: Claim): BaseArray {
  if (claim.kind !== 'block') throw new Error('columns are made of blocks');
  const { name, tree } = claim.block;
  const size = 2 ** block.vars;
  const all = cellsOf(cells, tree, name, claim.axes);
  if (all.length === size) return all;
  if (all.length < size) return tiled(cells.backend, all, size);
  const { start } = cells.plan.shape.pieces[block.piece]!;
  const { stepVars, batchVars } = cells.plan.shape;
  const first = start * 2 ** (stepVars + batchVars);
  return all.subarray(first, first + size);
}

function cellsOf(cells: Cells, tree: DataTree, name: string, axes: readonly Axis[]): BaseArray {
  if (name.startsWith(virtualMark)) return cells.virtual(name.slice(virtualMark.length));
  if (tree === 'D') return cells.data(name);
  return axes.some(isSummed) ? cells.virtual('S') : cells.block(tree, name);
}

/** Only S = Σ ε is summed inside a column. */
function isSummed(axis: Axis): boolean {
  return 'weights' in axis;
}

export function tiled(backend: Backend, values: BaseArray, size: number): BaseArray {
  const out = backend.base(size);
  for (let at = 0; at < size; at += values.length) out.set(values, at);
  return out;
}

function tableEntries(cells: Cells, block: LookupBlock, target: ExtArray, alpha: Ext, beta: Ext): void {
  const { backend, plan } = cells;
  const size = 2 ** block.vars;
  const index = backend.base(size);
  for (let i = 0; i < size; i++) index[i] = BigInt(i);
  const square = F.square(beta);
  const minus = (value: Ext): Ext => F.neg(value);
  if (block.kind === 'TR') {
    backend.combine(target, [index], [minus(F.ONE)], alpha);
  } else if (block.kind === 'TA') {
    const [A, M] = [backend.base(size), backend.base(size)];
    const top = 2 ** plan.shape.manifest.abits - 1;
    for (let i = 2 ** 15 + 1; i < size; i++) {
      const y = i - 2 ** 15;
      A[i] = BigInt(Math.min(y, top));
      M[i] = y < top ? 1n : 0n;
    }
    const tag = F.sub(alpha, F.mul(square, beta));
    backend.combine(target, [index, A, M], [minus(F.ONE), minus(beta), minus(square)], tag);
  } else {
    const values = backend.base(size);
    plan.shape.expValues.forEach((value, i) => (values[i] = BigInt(value)));
    backend.combine(target, [index, values], [minus(F.ONE), minus(beta)], F.sub(alpha, F.square(square)));
  }
}

function negate(target: BaseArray, counts: BaseArray): void {
  for (let i = 0; i < counts.length; i++) target[i] = F.neg({ c0: counts[i]!, c1: 0n }).c0;
}
