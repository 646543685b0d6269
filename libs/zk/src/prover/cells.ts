/** The prover's view of all committed and virtual tensors of one segment as field arrays. */
import type { BaseArray } from '../commit/backend.js';
import type { Columns } from '../commit/columns.js';
import * as F from '../commit/field/extension.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { placedBlock, type Plan } from '../relation/plan.js';
import type { Backend } from './backend.js';
import { highLimbs } from './strayed.js';

export class Cells {
  /** All 2^n cells of the global hypercube. */
  readonly global: BaseArray;
  readonly #virtual = new Map<string, BaseArray>();
  readonly #views = new Map<string, BaseArray>();

  constructor(
    readonly plan: Plan,
    readonly backend: Backend,
  ) {
    this.global = backend.base(2 ** plan.vars);
  }

  /** A committed block, a view of the hypercube. */
  block(tree: DataTree, name: string): BaseArray {
    const key = `${tree}.${name}`;
    let view = this.#views.get(key);
    if (view === undefined) {
      const { offset, vars } = placedBlock(this.plan, tree, name);
      view = this.global.subarray(offset, offset + 2 ** vars);
      this.#views.set(key, view);
    }
    return view;
  }

  /** X or Y as the steps read them: where a proof covers one segment, as they are committed. */
  data(name: string): BaseArray {
    return this.plan.shape.segmentVars > 0 ? this.virtual(name) : this.block('D', name);
  }

  /** A tensor that is never committed. */
  virtual(name: string): BaseArray {
    return this.#virtual.get(name)!;
  }

  setBlocks(tree: DataTree, columns: Columns): void {
    for (const [name, values] of columns) this.backend.setIntegers(this.block(tree, name), values);
  }

  setVirtual(columns: Columns): void {
    for (const [name, values] of columns) {
      if (name.endsWith(highLimbs)) continue;
      const array = this.backend.base(values.length);
      this.backend.setIntegers(array, values);
      const high = columns.get(name + highLimbs);
      if (high !== undefined) addHighLimbs(array, high);
      this.#virtual.set(name, array);
    }
  }

  /** Stored rows of trees, one behind the other. */
  rows(...trees: readonly DataTree[]): BaseArray {
    const length = 2 ** this.plan.profile.m;
    const globalRows = trees.flatMap((tree) => this.plan.trees[tree].globalRows);
    const out = this.backend.base(globalRows.length * length);
    globalRows.forEach((row, k) => out.set(this.global.subarray(row * length, (row + 1) * length), k * length));
    return out;
  }
}

function addHighLimbs(low: BaseArray, high: Float64Array): void {
  high.forEach((limb, i) => {
    if (limb !== 0) low[i] = F.add({ c0: low[i]!, c1: 0n }, F.fromInteger(BigInt(limb) << 20n)).c0;
  });
}
