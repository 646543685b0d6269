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
import { relatedHeads } from '../relation/heads.js';
import { placedBlock, type PlacedBlock } from '../relation/plan.js';
import { columnForms, type ColumnValues } from '../verifier/flow/columns.js';
import { ofClaim, type Axis, type Claim, type LinearForm } from '../verifier/linear-form.js';
import type { Backend } from './backend.js';
import type { Cells } from './cells.js';

/** q = constant + Σ coefficient·column on a part of a lookup block, and of a table's how often each entry is looked up. */
interface Entries {
  readonly constant: Ext;
  readonly coefficients: readonly Ext[];
  readonly columns: readonly BaseArray[];
  readonly counts?: BaseArray;
}

type Write = (target: { readonly begin: number; readonly count: number }, entries: Entries) => void;

/** The 2^nL numerators p and denominators q, written from the columns wherever they are wanted. */
export class LookupVector {
  readonly #form: (block: LookupBlock) => LinearForm;

  constructor(
    readonly cells: Cells,
    readonly alpha: Ext,
    readonly beta: Ext,
  ) {
    const point = new Array<Ext>(cells.plan.lookups.vars - 1).fill(F.ZERO);
    this.#form = columnForms(symbols(cells), { point, beta }, virtualValues(cells));
  }

  get size(): number {
    return 2 ** this.cells.plan.lookups.vars;
  }

  /** p and q from `begin` on, as many as there is room for. */
  fractions(p: BaseArray, q: ExtArray, begin: number): void {
    const { backend } = this.cells;
    p.fill(0n);
    this.#each(begin, p.length, (part, { columns, coefficients, constant, counts }) => {
      const own = p.subarray(part.begin, part.begin + part.count);
      if (counts === undefined) own.fill(1n);
      else negate(own, counts);
      backend.combine(extView(q, part.begin, part.count), columns, coefficients, constant);
    });
    this.#pad(q, begin);
  }

  /** q + λ·p. */
  sums(target: ExtArray, lambda: Ext): void {
    this.#each(0, this.size, (part, { columns, coefficients, constant, counts }) => {
      const own = extView(target, part.begin, part.count);
      if (counts === undefined) this.cells.backend.combine(own, columns, coefficients, F.add(constant, lambda));
      else this.cells.backend.combine(own, [...columns, counts], [...coefficients, F.neg(lambda)], constant);
    });
    this.#pad(target, 0);
  }

  /** λ·p, where there is 0. */
  scaled(target: ExtArray, lambda: Ext): void {
    this.#each(0, this.size, (part, { counts }) => {
      const own = extView(target, part.begin, part.count);
      if (counts === undefined) this.cells.backend.combine(own, [], [], lambda);
      else this.cells.backend.combine(own, [counts], [F.neg(lambda)], F.ZERO);
    });
  }

  #each(begin: number, count: number, write: Write): void {
    const { plan, backend } = this.cells;
    for (const block of plan.lookups.blocks) {
      const [first, end] = [Math.max(begin, block.offset), Math.min(begin + count, block.offset + 2 ** block.vars)];
      if (first >= end) continue;
      const mark = backend.mark();
      const entries = this.#entries(block, first - block.offset, end - first);
      write({ begin: first - begin, count: end - first }, entries);
      backend.release(mark);
    }
  }

  #entries(block: LookupBlock, begin: number, count: number): Entries {
    const { cells, alpha } = this;
    if (block.isTable) return tableEntries(cells, block, begin, count, alpha, this.beta);
    const form = this.#form(block);
    return {
      constant: F.sub(alpha, form.constant),
      coefficients: form.claims.map(([, coefficient]) => F.neg(coefficient)),
      columns: form.claims.map(([claim]) => columnOf(cells, block, claim, begin, count)),
    };
  }

  /** Behind the last block every denominator is 1. */
  #pad(q: ExtArray, begin: number): void {
    const last = this.cells.plan.lookups.blocks.at(-1)!;
    const end = Math.max(0, last.offset + 2 ** last.vars - begin);
    if (2 * end < q.length) this.cells.backend.combine(q.subarray(2 * end), [], [], F.ONE);
  }
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
  const { layers, pieces, loss, isForward } = cells.plan.shape;
  const { hidden } = relatedHeads[loss];
  const template = placedBlock(cells.plan, 'S', 'hL');
  const symbol = (name: string): LinearForm => {
    const block: PlacedBlock = { ...template, name: virtualMark + name };
    return ofClaim({ kind: 'block', block, axes: [] });
  };
  const below = layers.slice(0, -1);
  return {
    hiddenZ: below.map(({ layer }) => symbol(`Z${layer}`)),
    maskedH: isForward ? [] : below.map(({ layer }) => symbol(`MH${layer}`)),
    logitZ: pieces.map(() => symbol('ZL')),
    loss: { pieces: pieces.map(() => hidden.pieces.map(symbol)), rows: hidden.rows.map(symbol) },
  };
}

/** The cells of a claim's block that a part of a lookup block runs over; parts are aligned. */
function columnOf(cells: Cells, block: LookupBlock, claim: Claim, begin: number, count: number): BaseArray {
  if (claim.kind !== 'block') throw new Error('columns are made of blocks');
  const { name, tree } = claim.block;
  const size = 2 ** block.vars;
  const all = cellsOf(cells, tree, name, claim.axes);
  if (all.length < count) return tiled(cells.backend, all, count);
  const { stepVars, batchVars } = cells.plan.shape;
  const piece = all.length > size ? cells.plan.shape.pieces[block.piece]!.start * 2 ** (stepVars + batchVars) : 0;
  const first = piece + (begin % all.length);
  return all.subarray(first, first + count);
}

function cellsOf(cells: Cells, tree: DataTree, name: string, axes: readonly Axis[]): BaseArray {
  if (name.startsWith(virtualMark)) return cells.virtual(name.slice(virtualMark.length));
  if (tree === 'D') return cells.labels();
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

function tableEntries(cells: Cells, block: LookupBlock, begin: number, count: number, alpha: Ext, beta: Ext): Entries {
  const { backend, plan } = cells;
  const kind = block.kind as 'TR' | 'TA' | 'TE';
  const counts = cells.block('S', { TR: 'mR', TA: 'mA', TE: 'mE' }[kind]).subarray(begin, begin + count);
  const column = (entry: (i: number) => number): BaseArray => {
    const out = backend.base(count);
    for (let i = 0; i < count; i++) out[i] = BigInt(entry(begin + i));
    return out;
  };
  const [index, square] = [column((i) => i), F.square(beta)];
  const [one, first, second] = [F.ONE, beta, square].map(F.neg) as [Ext, Ext, Ext];
  if (kind === 'TR') return { constant: alpha, coefficients: [one], columns: [index], counts };
  if (kind === 'TE') {
    const values = column((i) => plan.shape.expValues[i] ?? 0);
    return { constant: F.sub(alpha, F.square(square)), coefficients: [one, first], columns: [index, values], counts };
  }
  const [top, zero] = [2 ** plan.shape.manifest.abits - 1, 2 ** 15];
  const A = column((i) => Math.min(Math.max(i - zero, 0), top));
  const constant = F.sub(alpha, F.mul(square, beta));
  if (plan.shape.isForward) return { constant, coefficients: [one, first], columns: [index, A], counts };
  const M = column((i) => (i > zero && i - zero < top ? 1 : 0));
  return { constant, coefficients: [one, first, second], columns: [index, A, M], counts };
}

function negate(target: BaseArray, counts: BaseArray): void {
  for (let i = 0; i < counts.length; i++) target[i] = F.neg({ c0: counts[i]!, c1: 0n }).c0;
}
