/**
 * Writes the rules of `fxt/2` as nodes of a float64 graph (libs/step/SPEC.md §26): every number is an integer below
 * 2^53, so no node but a division or a root rounds, and those are taken down to the integer that the rule asks for.
 */
import { elementCode, type ElementType, type GraphBuilder } from '../onnx/graph-builder.js';
import { sizeOf } from '../tensors.js';
import type { NetLayer } from './edge.js';
import { Gates } from './gates.js';
import { RowSums } from './row-sums.js';
import type { Side, Watched } from './watched.js';

interface EmitterOptions {
  /** Training graph: names of step inputs and watches carry a prefix. */
  readonly isTraining: boolean;
  readonly overflow: 'saturate' | 'fail';
  /** Whether products may run in float32 where a check can show that it carries them. */
  readonly isQuick?: boolean;
  /** Whether what is rounded stays below 2^52 (`hasRoom` of the range rules). */
  readonly hasRoom: boolean;
  /** Records of a part of the batch; 0 where nothing is summed over them. */
  readonly records: number;
  /** Where products may be taken by bytes: edges whose errors are the loss's own, which reach 2^15. */
  readonly bytes?: { readonly ofLoss: ReadonlySet<string> } | undefined;
  /** Of watch outputs and step inputs. */
  readonly prefix: string;
}

/** Float64 from here to 2^53 are whole numbers: what is added to it and taken off again is rounded to nearest. */
export const wholeFrom = 1.5 * 2 ** 52;

export class NetEmitter {
  readonly watched: Watched[] = [];
  /** What is written now. */
  side: Side = 'values';
  readonly rowSums = new RowSums(this);
  readonly gates = new Gates(this);
  readonly #seen = new Map<string, number>();
  readonly #tables = new Map<Float64Array, string>();
  readonly #vectors = new Map<number, string>();
  readonly #ones = new Map<number, string>();
  readonly #later = new Map<string, { readonly make: () => string; name?: string }>();
  readonly #bytes = new Map<string, string>();

  constructor(
    readonly graph: GraphBuilder,
    readonly options: EmitterOptions,
  ) {}

  get isTraining(): boolean {
    return this.options.isTraining;
  }

  node(op: string, inputs: readonly string[], attributes: Parameters<GraphBuilder['node']>[2] = {}): string {
    return this.graph.node(
      op,
      inputs.map((name) => this.#made(name)),
      attributes,
    );
  }

  /** Hands a tensor out of the graph under a name. */
  output(x: string, name: string): void {
    this.graph.node('Identity', [this.#made(x)], {}, name);
  }

  /** A tensor that is written once a node reads it. */
  later(make: () => string): string {
    const name = this.graph.fresh();
    this.#later.set(name, { make });
    return name;
  }

  #made(name: string): string {
    const later = this.#later.get(name);
    if (later === undefined) return name;
    later.name ??= later.make();
    return later.name;
  }

  /** Bytes as whole numbers. */
  fromBytes(bytes: string): string {
    const name = this.later(() => this.cast(bytes, 'float64'));
    this.#bytes.set(name, bytes);
    return name;
  }

  /** What `fromBytes` was given. */
  bytesOf(name: string): string | undefined {
    return this.#bytes.get(name);
  }

  scalar(value: number): string {
    return this.graph.scalar(value);
  }

  add(x: string, y: string): string {
    return this.node('Add', [x, y]);
  }

  sub(x: string, y: string): string {
    return this.node('Sub', [x, y]);
  }

  mul(x: string, y: string): string {
    return this.node('Mul', [x, y]);
  }

  /** x·2^bits; x itself where bits is 0. */
  scale(x: string, bits: number): string {
    return this.scaled(x, 2 ** bits);
  }

  /** x·factor; x itself where it is 1. */
  scaled(x: string, factor: number): string {
    return factor === 1 ? x : this.mul(x, this.scalar(factor));
  }

  /** `RS(x, s)`. */
  round(x: string, s: number): string {
    return this.nearest(this.scale(x, -s), s);
  }

  /** floor(y + 1/2) of multiples y of 2^-s; y itself where s is not above 0. */
  nearest(y: string, s: number): string {
    return s <= 0 ? y : this.whole(this.add(y, this.scalar(this.half(s))));
  }

  /** What `whole` is given more than a multiple of 2^-s, so that halves round up: 1/2, or with room half of that 2^-s. */
  half(s: number): number {
    return this.options.hasRoom ? 2 ** -(s + 1) : 0.5;
  }

  /** Two sums take two thirds of the time of one Floor. @param bits with room: of numbers that are 2^bits times as large */
  whole(moved: string, bits = 0): string {
    if (!this.options.hasRoom) return this.node('Floor', [moved]);
    const from = this.scalar(wholeFrom * 2 ** bits);
    return this.sub(this.add(moved, from), from);
  }

  /** Whether what is rounded may be a number 2^bits times as large: nobody watches it, and there is room. */
  get mayScale(): boolean {
    return this.options.hasRoom && this.options.overflow === 'saturate';
  }

  /** `SAT_size(RS(y·2^s, s))·2^bits` from y·2^bits, for s above 0. Where `mayScale` says so. */
  satScaled(scaled: string, s: number, bits: number, size = 16): string {
    const rounded = this.whole(this.add(scaled, this.scalar(2 ** bits * this.half(s))), bits);
    const high = 2 ** (size - 1);
    return this.clamp(rounded, -high * 2 ** bits, (high - 1) * 2 ** bits);
  }

  /** `RS(x·factor, s)`, by one pass over x less: a factor that is smaller than x takes the scale. */
  roundedBy(x: string, factor: string, s: number): string {
    if (s <= 0) return this.scale(this.mul(x, factor), -s);
    return this.nearest(this.mul(x, this.scale(factor, -s)), s);
  }

  /**
   * `RS(x·factor, s)` of a joined tensor by factor·2^-s, a number or the name of a float64 [1].
   *
   * @param factor its products with x are whole numbers times 2^-s that float64 carries
   */
  roundedScaled(x: string, factor: string | number, s: number): string {
    return s <= 0 ? this.affine(x, factor, 0) : this.whole(this.affine(x, factor, this.half(s)));
  }

  /** x·factor + addend of a joined tensor in one pass; both of [1]. */
  affine(x: string, factor: string | number, addend: string | number): string {
    const [scale, moved] = [factor, addend].map((one) => (typeof one === 'string' ? one : this.vector(one)));
    const inputs = [x, scale!, moved!, this.vector(0), this.vector(1)];
    return this.node('BatchNormalization', inputs, { epsilon: { float: 0 } });
  }

  /** x + half; x itself where half is 0. */
  moved(x: string, half: number): string {
    return half === 0 ? x : this.add(x, this.scalar(half));
  }

  /** A constant of shape [1]. */
  vector(value: number): string {
    const name = this.#vectors.get(value) ?? this.graph.float64([1], Float64Array.of(value));
    this.#vectors.set(value, name);
    return name;
  }

  /**
   * Whole numbers x·factor below 2^51 of a joined tensor, as they are carried: with room, moved to where adding rounds to
   * whole numbers.
   */
  carryScaled(x: string, factor: number): string {
    return this.affine(x, factor, this.carriedFrom);
  }

  /** What whole numbers are moved by that are carried. */
  get carriedFrom(): number {
    return this.options.hasRoom ? wholeFrom : 0;
  }

  /** The whole numbers that are carried. */
  carriedValue(V: string): string {
    return this.options.hasRoom ? this.sub(V, this.scalar(wholeFrom)) : V;
  }

  /** V + floor(moved), for numbers that are moved as `whole` takes them. */
  carryOn(V: string, moved: string): string {
    return this.add(V, this.options.hasRoom ? moved : this.node('Floor', [moved]));
  }

  /**
   * `RS(left·right, s)` of [n, k] and [k, m] (or [m, k]): one Gemm, which adds the half, and what makes it whole.
   *
   * @param addend name of a whole number per column at the product's fraction, added before rounding
   */
  roundedProduct(left: string, right: string, s: number, { addend, transposeRight = 0 }: Product = {}): string {
    const half = s > 0 ? this.half(s) : 0;
    const moved = addend === undefined ? this.scalar(half) : this.moved(this.scale(addend, -s), half);
    const attributes = { alpha: { float: 2 ** -s }, transB: { int: transposeRight } };
    const product = this.node('Gemm', [left, right, moved], attributes);
    return s > 0 ? this.whole(product) : product;
  }

  /** `SAT_bits`, or under `overflow: "fail"` the guard, whose largest magnitude leaves the graph. */
  sat(x: string, layer: Pick<NetLayer, 'id'>, bits = 16): string {
    const high = 2 ** (bits - 1) - 1;
    if (this.options.overflow === 'fail') this.watch(x, layer.id, high, -high - 1);
    return this.clamp(x, -high - 1, high);
  }

  clamp(x: string, low: number, high: number): string {
    return this.gates.clamp(x, low, high);
  }

  /** Hands out how far |x + 1/2| reaches, so that one number tells both ends of low..high = −high − 1. */
  watch(x: string, tensor: string, high: number, low = -high): void {
    const count = this.#seen.get(tensor) ?? 0;
    this.#seen.set(tensor, count + 1);
    const output = `max.${tensor}.${count}`;
    const moved = low === -high ? x : this.add(x, this.scalar(0.5));
    this.graph.node(
      'ReduceMax',
      [this.node('Abs', [moved])],
      { keepdims: { int: 0 } },
      `${this.options.prefix}${output}`,
    );
    this.watched.push({ output, tensor, high, low, side: this.side });
  }

  /** `FDIV(n, d)`: exact while |n| < 2^53, for a quotient that falls short of a whole number does so by more than a float64 rounds. */
  floorDiv(n: string, d: string): string {
    return this.node('Floor', [this.node('Div', [n, d])]);
  }

  /** `DIVR(n, d)`: exact while |2n + d| < 2^53. */
  divRound(n: string, d: string): string {
    return this.floorDiv(this.add(this.scale(n, 1), d), this.scale(d, 1));
  }

  /** `DIVR(n, d)` by a whole number that is known. */
  divRoundBy(n: string, d: number): string {
    if (Number.isInteger(Math.log2(d))) return this.round(n, Math.log2(d));
    return this.floorDiv(this.add(this.scale(n, 1), this.scalar(d)), this.scalar(2 * d));
  }

  /** `ISQRT(n)`: exact while n < 2^52. */
  isqrt(n: string): string {
    return this.node('Floor', [this.node('Sqrt', [n])]);
  }

  /** Sum over an axis, which stays with size 1 unless said otherwise. */
  sum(x: string, axis: number | readonly number[], keep: 0 | 1 = 1): string {
    const axes = typeof axis === 'number' ? [axis] : axis;
    return this.node('ReduceSum', [x, this.graph.axes(...axes)], { keepdims: { int: keep } });
  }

  /** Sums [n] of the columns of [rows, n]: a product, for a sum over the first axis takes the runtime up to eight times as long. */
  columnSums(x: string, rows: number): string {
    const ones = this.#ones.get(rows) ?? this.graph.float64([rows], new Float64Array(rows).fill(1));
    this.#ones.set(rows, ones);
    return this.node('MatMul', [ones, x]);
  }

  /** A number for each row as rows meet it. Before, it has no last axis of size 1, with which the runtime is slow. */
  column(ofRows: string): string {
    return this.node('Unsqueeze', [ofRows, this.graph.axes(-1)]);
  }

  /** `RS(x·2^bits·factor, s)` by a factor for each row. */
  roundedByRow(x: string, factor: string, s: number, bits = 0): string {
    return this.nearest(this.mul(x, this.column(this.scale(factor, bits - s))), s);
  }

  /** −1 for a size that follows from the others. */
  reshape(x: string, dims: readonly number[]): string {
    return this.node('Reshape', [x, this.graph.axes(...dims)]);
  }

  /** As [rows, width]. */
  rows(x: string, width: number): string {
    return this.reshape(x, [-1, width]);
  }

  /** An edge's tensor from rows: [batch, …shape]. */
  unrows(x: string, shape: readonly number[]): string {
    return this.reshape(x, [-1, ...shape]);
  }

  transpose(x: string, perm: readonly number[]): string {
    return this.node('Transpose', [x], { perm: { ints: perm } });
  }

  concat(parts: readonly string[], axis: number): string {
    return parts.length === 1 ? parts[0]! : this.node('Concat', parts, { axis: { int: axis } });
  }

  /** Tensors one behind the other, [1, 1, elements]. */
  joined(names: readonly string[]): string {
    return this.concat(
      names.map((name) => this.reshape(name, [1, 1, -1])),
      2,
    );
  }

  /** A joined tensor's parts in their shapes. @param rest elements behind them that nobody reads */
  parts(x: string, shapes: readonly (readonly number[])[], rest = 0): readonly string[] {
    const sizes = [...shapes.map(sizeOf), ...(rest === 0 ? [] : [rest])];
    if (sizes.length === 1) return [this.reshape(x, shapes[0]!)];
    const parts = this.split(x, sizes);
    return shapes.map((dims, i) => this.reshape(parts[i]!, dims));
  }

  /** Parts of so many elements of an axis; a joined tensor's are joined themselves. */
  split(x: string, sizes: readonly number[], axis = 2): readonly string[] {
    const parts = sizes.map(() => this.graph.fresh());
    this.graph.nodes('Split', [this.#made(x), this.graph.axes(...sizes)], { axis: { int: axis } }, parts);
    return parts;
  }

  /** Elements from..to (to left out) of an axis, every `step`-th. */
  slice(x: string, axis: number, from: number, to: number, step = 1): string {
    const { graph } = this;
    return this.node('Slice', [x, graph.axes(from), graph.axes(to), graph.axes(axis), graph.axes(step)]);
  }

  cast(x: string, to: ElementType): string {
    return this.node('Cast', [x], { to: { int: elementCode[to] } });
  }

  /** Elements of a table at whole numbers x, which must lie inside it. */
  lookUp(table: Float64Array, x: string): string {
    return this.entries(table, this.places(x), x);
  }

  /** Whole numbers as places of a table, in a row. */
  places(x: string): string {
    return this.reshape(this.cast(x, 'int32'), [-1]);
  }

  /**
   * Elements of a table at places, those below 0 counted from its end, in the shape of a tensor. GatherElements takes a
   * fifth of Gather's time. A graph holds each table once.
   */
  entries(table: Float64Array, places: string, like: string): string {
    const name = this.#tables.get(table) ?? this.graph.float64([table.length], table);
    this.#tables.set(table, name);
    return this.node('Reshape', [this.node('GatherElements', [name, places]), this.node('Shape', [like])]);
  }

  where(condition: string, x: string, y: string): string {
    return this.node('Where', [condition, x, y]);
  }

  /** Numbers of this step for a layer whose op asks for some: float64 [size]. */
  stepInput(layer: Pick<NetLayer, 'id'>): string {
    return `${this.options.prefix}input:${layer.id}`;
  }
}

interface Product {
  readonly addend?: string;
  readonly transposeRight?: 0 | 1;
}
