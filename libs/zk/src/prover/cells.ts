/** The prover's view of all committed and virtual tensors of one segment as field arrays. */
import type { BaseArray } from '../commit/backend.js';
import type { Columns } from '../commit/columns.js';
import * as F from '../commit/field/extension.js';
import { dataTrees, type DataTree } from '../commit/layout/blocks.js';
import { relatedHeads } from '../relation/heads.js';
import { placedBlock, type Plan } from '../relation/plan.js';
import type { Backend } from './backend.js';
import { committedStep, type SegmentRoom, type SegmentWitness } from './step-state.js';
import { highLimbs } from './strayed.js';

export class Cells {
  /** The cells of the global hypercube up to the last block; behind it they are zero. */
  readonly #global: BaseArray;
  readonly #stored: ReadonlySet<number>;
  readonly #virtual = new Map<string, BaseArray>();
  readonly #views = new Map<string, BaseArray>();
  /** Which superblock of the committed set each segment reads, where there are several. */
  #superblocks: readonly number[] | undefined;

  constructor(
    readonly plan: Plan,
    readonly backend: Backend,
  ) {
    this.#global = backend.base(2 ** plan.profile.m * rowCount(plan));
    this.#stored = new Set(dataTrees.flatMap((tree) => plan.trees[tree].globalRows));
    for (const [name, size] of virtualSizes(plan)) this.#virtual.set(name, backend.base(size));
  }

  /** A committed block, a view of the hypercube. */
  block(tree: DataTree, name: string): BaseArray {
    const key = `${tree}.${name}`;
    let view = this.#views.get(key);
    if (view === undefined) {
      const { offset, vars } = placedBlock(this.plan, tree, name);
      view = this.#global.subarray(offset, offset + 2 ** vars);
      this.#views.set(key, view);
    }
    return view;
  }

  /** Y as the steps read it: where a proof covers one segment, as it is committed. */
  labels(): BaseArray {
    return this.plan.shape.segmentVars > 0 ? this.virtual('Y') : this.block('D', 'Y');
  }

  /** The place of step t in the committed X. */
  committedStep(t: number): number {
    return committedStep(this.plan.shape.steps, this.#superblocks, t);
  }

  /** A tensor that is never committed. */
  virtual(name: string): BaseArray {
    return this.#virtual.get(name)!;
  }

  setBlocks(tree: DataTree, columns: Columns): void {
    for (const [name, values] of columns) this.backend.setIntegers(this.block(tree, name), values);
  }

  /** The memory of cells that are still zero, for the integers of the segment that they will be set from. */
  room(): SegmentRoom {
    const { trees } = this.plan;
    const doubles = ({ buffer, byteOffset, length }: BaseArray): Float64Array =>
      new Float64Array(buffer, byteOffset, length);
    return {
      witness: new Map(trees.S.blocks.map(({ name }) => [name, doubles(this.block('S', name))])),
      data: new Map([
        ['X', doubles(this.block('D', 'X'))],
        ['Y', doubles(this.labels())],
      ]),
      virtual: new Map([...this.#virtual].map(([name, array]) => [name, doubles(array)])),
    };
  }

  /**
   * From the integers of a segment, which are of no use to the cells from then on.
   *
   * @param superblocks of the committed set that the segments read, where there are several
   * @param committed   the data in its tree
   */
  setSegment(segment: SegmentWitness, superblocks: readonly number[] | undefined, committed: Columns): void {
    const { witness, data, before, after, virtual } = segment;
    this.#superblocks = superblocks;
    this.setBlocks('S', witness);
    this.setBlocks('D', committed);
    this.setBlocks('W0', before);
    if (!this.plan.shape.isForward) this.setBlocks('WT', after);
    for (const [name, values] of new Map([...virtual, ...data])) {
      const array = this.#virtual.get(name);
      if (array === undefined) continue;
      this.backend.setIntegers(array, values);
      const high = virtual.get(name + highLimbs);
      if (high !== undefined) addHighLimbs(array, high);
    }
  }

  /** Stored rows of trees, one behind the other. */
  rows(...trees: readonly DataTree[]): BaseArray[] {
    return trees.flatMap((tree) => this.plan.trees[tree].globalRows).map((row) => this.row(row)!);
  }

  /** A row of the hypercube, unless no tree stores it: then it is zero. */
  row(index: number): BaseArray | undefined {
    if (!this.#stored.has(index)) return undefined;
    const length = 2 ** this.plan.profile.m;
    return this.#global.subarray(index * length, (index + 1) * length);
  }
}

/** Up to the end of the last block: large ones lie there with the rows that are zero and not stored. */
function rowCount(plan: Plan): number {
  const ends = dataTrees.flatMap((tree) =>
    plan.trees[tree].blocks.map(({ name, vars }) => placedBlock(plan, tree, name).offset + 2 ** vars),
  );
  return Math.ceil(Math.max(...ends) / 2 ** plan.profile.m);
}

/** The tensors that messages are made of but no tree holds, with their sizes. */
function virtualSizes({ shape }: Plan): [name: string, size: number][] {
  const rowSize = shape.steps * shape.samples;
  const { pieces, rows } = relatedHeads[shape.loss].hidden;
  const hidden = shape.layers
    .slice(0, -1)
    .flatMap(({ layer }) => (shape.isForward ? ['Z'] : ['Z', 'MH', 'H']).map((name) => [name, layer] as const));
  return [
    ...hidden.map(([name, layer]): [string, number] => [`${name}${layer}`, rowSize * shape.widths[layer]!]),
    ...['ZL', ...pieces].map((name): [string, number] => [name, rowSize * shape.widths.at(-1)!]),
    ...[...rows, ...(rows.length > 0 ? ['S'] : [])].map((name): [string, number] => [name, rowSize]),
    ...(shape.segmentVars > 0 ? ([['Y', rowSize * shape.widths.at(-1)!]] satisfies [string, number][]) : []),
  ];
}

function addHighLimbs(low: BaseArray, high: Float64Array): void {
  high.forEach((limb, i) => {
    if (limb !== 0) low[i] = F.add({ c0: low[i]!, c1: 0n }, F.fromInteger(BigInt(limb) << 20n)).c0;
  });
}
