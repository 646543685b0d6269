/** The combined weights Ω of libs/zk/SPEC.md §7 F7, one row of the hypercube at a time. */
import { extArray, extView } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import { keptCodewords } from '../commit/commit.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { dataTrees, type DataTree } from '../commit/layout/blocks.js';
import { placedBlock, type PlacedBlock, type Plan } from '../relation/plan.js';
import type { CombinedClaim } from '../verifier/flow/pads.js';
import type { Axis, Claim } from '../verifier/linear-form.js';
import type { Backend, TensorTerm } from './backend.js';

interface BlockClaims {
  readonly block: PlacedBlock;
  readonly claims: { readonly axes: readonly Axis[]; readonly coefficient: Ext }[];
}

/** Rows of Ω of at most so many bytes in all are made once and kept, under a profile that keeps codewords. */
const keptBytes = 2 ** 27;

/** Fewest columns of a block with whose sum values outside the domain are added. */
const fewestColumns = 16;

type OutOfDomain = Extract<Claim, { kind: 'ood' }>;

/** What Ω is made of: claims by block, values outside the domain, and pads. */
export class OmegaRows {
  readonly #blocks: readonly BlockClaims[];
  #kept: ReadonlyMap<number, ExtArray> | undefined;
  readonly #outside: (OutOfDomain & { readonly coefficient: Ext })[] = [];

  constructor(
    readonly backend: Backend,
    readonly plan: Plan,
    readonly combined: CombinedClaim,
  ) {
    const ofBlock = new Map<number, BlockClaims>();
    for (const [claim, coefficient] of combined.claims) {
      if (claim.kind === 'ood') this.#outside.push({ ...claim, coefficient });
      else {
        const known = ofBlock.get(claim.block.offset) ?? { block: claim.block, claims: [] };
        known.claims.push({ axes: claim.axes, coefficient });
        ofBlock.set(claim.block.offset, known);
      }
    }
    const pads = placedBlock(plan, 'S', 'pad');
    if (!ofBlock.has(pads.offset)) ofBlock.set(pads.offset, { block: pads, claims: [] });
    this.#blocks = [...ofBlock.values()];
  }

  /** Calls `use` with every row that may not be zero, tree by tree. The array is the caller's until `use` returns. */
  each(use: (row: number, weights: ExtArray) => void): void {
    if (this.#kept !== undefined) return this.#kept.forEach((weights, row) => use(row, weights));
    const length = 2 ** this.plan.profile.m;
    const counts = dataTrees.flatMap((tree) => this.#ranges(tree).map(([, count]) => count));
    const count = counts.reduce((sum, own) => sum + own, 0);
    const isKept = this.plan.profile.logBlowup <= keptCodewords.logBlowup && 16 * count * length <= keptBytes;
    const kept = isKept ? this.backend.ext(count * length) : undefined;
    const arrays = new Map<number, ExtArray>();
    this.#make(
      () => (kept ? extView(kept, arrays.size * length, length) : this.backend.ext(length)),
      (row, weights) => {
        if (kept) arrays.set(row, weights);
        use(row, weights);
      },
    );
    if (kept) this.#kept = arrays;
  }

  /** @param zeros a row of zeros */
  #make(zeros: () => ExtArray, use: (row: number, weights: ExtArray) => void): void {
    const { backend, plan } = this;
    const length = 2 ** plan.profile.m;
    for (const tree of dataTrees) {
      for (const [first, count, blocks] of this.#ranges(tree)) {
        const mark = backend.mark();
        const terms = blocks.map(({ block, claims }) => ({
          block,
          terms: claims.map(({ axes, coefficient }) => tensorTerm(backend, block, axes, coefficient)),
        }));
        const large = terms.find(({ block }) => block.vars >= plan.profile.m);
        const ofLarge = large?.terms[0] ? Math.min(length, large.terms[0].b.length / 2) : 0;
        const width = ofLarge >= fewestColumns ? ofLarge : 2 ** (plan.profile.m >> 1);
        const outside = this.#powers(tree, width);
        for (let row = first; row < first + count; row++) {
          const own = backend.mark();
          const weights = zeros();
          const ofRow = large ? partOf(large, row * length, length) : [];
          const sums = width === ofLarge ? [[...ofRow, ...outside(row)]] : [ofRow, outside(row)];
          for (const sum of sums) addTerms(backend, weights, sum);
          for (const known of terms) {
            const { block } = known;
            if (known === large) continue;
            const part = extView(weights, block.offset - row * length, 2 ** block.vars);
            addTerms(backend, part, known.terms);
          }
          if (blocks.some(({ block }) => block.kind === 'pad')) this.#addPads(weights, row * length);
          use(row, weights);
          backend.release(own);
        }
        backend.release(mark);
      }
    }
  }

  /** Rows of each large block of a tree, then each row that small blocks share, and the stored rows without a claim. */
  #ranges(tree: DataTree): [first: number, count: number, blocks: readonly BlockClaims[]][] {
    const { plan } = this;
    const { m } = plan.profile;
    const own = this.#blocks.filter(({ block }) => block.tree === tree);
    const large = own.filter(({ block }) => block.vars >= m);
    const ranges = large.map((claims): [number, number, BlockClaims[]] => {
      return [claims.block.offset / 2 ** m, 2 ** (claims.block.vars - m), [claims]];
    });
    const covered = new Set(ranges.flatMap(([first, count]) => Array.from({ length: count }, (_, k) => first + k)));
    const rest = plan.trees[tree].globalRows.filter((row) => !covered.has(row));
    return [
      ...ranges,
      ...rest.map((row): [number, number, BlockClaims[]] => {
        return [row, 1, own.filter(({ block }) => block.vars < m && Math.floor(block.offset / 2 ** m) === row)];
      }),
    ];
  }

  /** For each value outside the domain z^{k·2^m + j} on the k-th stored row of a tree, as tables of so many columns. */
  #powers(tree: DataTree, width: number): (row: number) => TensorTerm[] {
    const { backend, plan } = this;
    const length = 2 ** plan.profile.m;
    const claims = this.#outside
      .filter((claim) => claim.tree === tree)
      .map(({ z, coefficient }) => {
        const a = backend.powers(F.pow(z, BigInt(width)), length / width);
        return { a, b: backend.powers(z, width), step: F.pow(z, BigInt(length)), coefficient };
      });
    const places = new Map(plan.trees[tree].globalRows.map((row, k) => [row, k]));
    return (row) => {
      const place = places.get(row);
      if (place === undefined) return [];
      return claims.map(({ a, b, step, coefficient }) => {
        const scaled = backend.ext(a.length / 2);
        backend.addScaled(scaled, a, F.mul(coefficient, F.pow(step, BigInt(place))));
        return { a: scaled, b };
      });
    };
  }

  #addPads(weights: ExtArray, begin: number): void {
    const { offset } = placedBlock(this.plan, 'S', 'pad');
    const pads = extArray(this.combined.pads);
    const count = this.combined.pads.length;
    [F.ONE, F.X].forEach((factor, part) => {
      const start = offset + part * count;
      const [first, end] = [Math.max(begin, start), Math.min(begin + weights.length / 2, start + count)];
      if (first >= end) return;
      const own = extView(pads, first - start, end - first);
      this.backend.addScaled(extView(weights, first - begin, end - first), own, factor);
    });
  }
}

interface BlockTerms {
  readonly block: PlacedBlock;
  readonly terms: readonly TensorTerm[];
}

/** The part of a large block that lies in a row, which begins at a cell of the hypercube. */
function partOf({ block, terms }: BlockTerms, begin: number, length: number): TensorTerm[] {
  const first = begin - block.offset;
  return terms.map(({ a, b }) => {
    const width = b.length / 2;
    return {
      a: extView(a, Math.floor(first / width), Math.max(1, length / width)),
      b: extView(b, first % width, Math.min(width, length)),
    };
  });
}

function addTerms(backend: Backend, to: ExtArray, terms: readonly TensorTerm[]): void {
  if (terms.length > 0) backend.addTensors(to, terms);
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
