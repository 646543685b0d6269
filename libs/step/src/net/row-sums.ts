/**
 * Exact gradient sums `leftᵀ·right` over rows, which a graph takes as one product with what comes next inside
 * (libs/step/SPEC.md §26).
 */
import type { ElementType, GraphBuilder } from '../onnx/graph-builder.js';
import { byteRowsMax, emitSlicedSums } from './byte-sums.js';

/** A number of each step that leaves the graph, and must stay below 2^24 for the call to count. */
export interface Check {
  readonly output: string;
}

interface Factors {
  readonly left: string;
  readonly right: string;
  /** Where few bits are sure on the left. */
  readonly narrow?: Narrow | undefined;
  /** Whether it is taken as (rightᵀ·left)ᵀ: what a transposed factor costs shows where it is much the wider. */
  readonly isTurned: boolean;
}

interface Narrow {
  readonly rows: number;
  /** Largest magnitude on the left. */
  readonly leftMax: number;
  /** Whether products may be taken by bytes, and the right has 16 bits. */
  readonly hasDigits: boolean;
}

type Attributes = Parameters<GraphBuilder['node']>[2];

/** What of an emitter the sums are written with. */
interface Writer {
  readonly graph: GraphBuilder;
  readonly options: { readonly isQuick?: boolean; readonly prefix: string };
  node(op: string, inputs: readonly string[], attributes?: Attributes): string;
  scalar(value: number): string;
  half(s: number): number;
  moved(x: string, half: number): string;
  scale(x: string, bits: number): string;
  add(x: string, y: string): string;
  sub(x: string, y: string): string;
  mul(x: string, y: string): string;
  columnSums(x: string, rows: number): string;
  transpose(x: string, perm: readonly number[]): string;
  cast(x: string, to: ElementType): string;
  bytesOf(name: string): string | undefined;
  joined(names: readonly string[]): string;
  split(x: string, sizes: readonly number[], axis?: number): readonly string[];
  affine(x: string, factor: number, addend: number): string;
}

/** A product of bytes in float32 is worth its check. */
const byteMax = 255;

export class RowSums {
  readonly checks: Check[] = [];
  readonly #factors = new Map<string, readonly Factors[]>();

  constructor(private readonly e: Writer) {}

  /** @returns a name that the methods below read */
  add(left: string, right: string, narrow?: Narrow): string {
    return this.#named([{ left, right, narrow, isTurned: false }]);
  }

  /** The same for a right side of few columns. */
  addNarrow(left: string, right: string): string {
    return this.#named([{ left, right, isTurned: true }]);
  }

  /** Of gradient sums of parts of a batch; each a name of `add`, of this, or a tensor. */
  sum(left: string, right: string): string {
    const [ofLeft, ofRight] = [left, right].map((name) => this.#factors.get(name));
    if (ofRight === undefined) return this.e.add(this.value(left), right);
    return ofLeft === undefined ? this.#products(ofRight, 1, left)! : this.#named([...ofLeft, ...ofRight]);
  }

  /** D. */
  value(D: string): string {
    const factors = this.#factors.get(D);
    return factors === undefined ? D : this.#products(factors, 1)!;
  }

  /** What `whole` makes `RS(D, s)`. */
  moved(D: string, s: number): string {
    const { e } = this;
    const factors = this.#factors.get(D);
    const half = s > 0 ? e.half(s) : 0;
    if (factors === undefined) return e.moved(e.scale(D, -s), half);
    return this.#products(factors, 2 ** -s, half === 0 ? undefined : e.scalar(half))!;
  }

  /**
   * The same in joined parts of so many rows of D; of a product by bytes or in float32 each is made float64 by itself.
   *
   * @param columns of D
   */
  movedParts(D: string, s: number, sizes: readonly number[], columns: number): readonly string[] {
    const { e } = this;
    const elements = sizes.map((size) => size * columns);
    const factors = this.#factors.get(D) ?? [];
    const half = s > 0 ? e.half(s) : 0;
    if (factors.length > 0 && factors.every((one) => this.#hasDigits(one))) {
      const parts = factors.map(({ left, right }) => emitSlicedSums(e, e.bytesOf(left)!, right, sizes));
      return sizes.map((_, at) => {
        const sums = parts.map((slices) => e.cast(e.joined([slices[at]!]), 'float64'));
        return e.affine(
          sums.reduce((sum, part) => e.add(sum, part)),
          2 ** -s,
          half,
        );
      });
    }
    const [factor, ...others] = factors;
    if (factor === undefined || others.length > 0 || factor.isTurned || !this.#isQuick(factor)) {
      return this.#cut(this.moved(D, s), elements);
    }
    const product = this.#single(factor, { alpha: { float: 2 ** -s }, transA: { int: 1 } });
    return this.#cut(product, elements).map((part) => e.moved(e.cast(part, 'float64'), half));
  }

  #cut(D: string, sizes: readonly number[]): readonly string[] {
    return this.e.split(this.e.joined([D]), sizes);
  }

  /** `W − m·D`: the step size takes the error, which has fewer elements than D. */
  descended(W: string, D: string, m: string): string {
    const { e } = this;
    const factors = this.#factors.get(D);
    if (factors === undefined) return e.sub(W, e.mul(D, m));
    return this.#products(
      factors.map(({ right, ...own }) => ({ ...own, right: e.mul(right, m) })),
      -1,
      W,
    )!;
  }

  /** addend + alpha·Σ leftᵀ·right. */
  #products(factors: readonly Factors[], alpha: number, addend?: string): string | undefined {
    const attributes = { alpha: { float: alpha }, transA: { int: 1 } };
    if (factors.every(({ isTurned }) => isTurned)) {
      const inputs = factors.map(({ left, right }) => [right, left]);
      const [first, ...others] = inputs.map((own) => (sum?: string) => {
        return this.e.node('Gemm', sum === undefined ? own : [...own, sum], attributes);
      });
      const turned = this.e.transpose(
        others.reduce((sum, product) => product(sum), first!()),
        [1, 0],
      );
      return addend === undefined ? turned : this.e.add(turned, addend);
    }
    return factors.reduce<string | undefined>((sum, factor) => {
      if (!this.#isQuick(factor)) {
        return this.e.node('Gemm', [factor.left, factor.right, ...(sum === undefined ? [] : [sum])], attributes);
      }
      const product = this.e.cast(this.#single(factor, attributes), 'float64');
      return sum === undefined ? product : this.e.add(product, sum);
    }, addend);
  }

  #hasDigits({ left, narrow }: Factors): boolean {
    return narrow?.hasDigits === true && narrow.rows <= byteRowsMax && this.e.bytesOf(left) !== undefined;
  }

  #isQuick({ narrow }: Factors): boolean {
    return this.e.options.isQuick === true && narrow !== undefined && narrow.leftMax <= byteMax;
  }

  /**
   * alpha·leftᵀ·right as float32, alpha a power of 2. Every partial sum is at most leftMax times the sum of a column's magnitudes on the right;
   * while that is below 2^24, float32 carries it.
   */
  #single({ left, right, narrow }: Factors, attributes: Attributes): string {
    const { e } = this;
    const output = `check.${this.checks.length}`;
    const { rows, leftMax } = narrow!;
    const most = e.node('ReduceMax', [e.columnSums(e.node('Abs', [right]), rows)], { keepdims: { int: 0 } });
    e.graph.node('Mul', [most, e.scalar(leftMax)], {}, `${e.options.prefix}${output}`);
    this.checks.push({ output });
    return e.node('Gemm', [e.cast(e.bytesOf(left) ?? left, 'float32'), e.cast(right, 'float32')], attributes);
  }

  #named(factors: readonly Factors[]): string {
    const name = `rows.${this.#factors.size}`;
    this.#factors.set(name, factors);
    return name;
  }
}
