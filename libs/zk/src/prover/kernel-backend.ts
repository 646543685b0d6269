/** The backend over the compiled kernels. Arrays it makes lie in the engine's memory and are used in place. */
import * as F from '../field/extension.js';
import type { Ext } from '../field/extension.js';
import type { Point } from '../field/multilinear.js';
import type { Engine, Mark, Offset, Task } from '../kernels/index.js';
import { extAt, extArray, extView } from './arrays.js';
import type {
  Backend,
  BaseArray,
  DoubleRows,
  ExtArray,
  Fractions,
  RoundValues,
  SumTerm,
  TensorTerm,
  WeightGrid,
} from './backend.js';
import { isResident, KernelMemory, requireResident } from './kernel-memory.js';

type Scaled = ReturnType<Backend['scaledSum']>;

/** Indices per task: enough that handing it over costs little. */
const chunk = 2 ** 13;
/** Words per task where they are only written. */
const clearedAtOnce = 2 ** 17;
/** Most terms that the tensor kernel takes. */
const tensorTerms = 32;
/** Nonces tried per call of the search kernel. */
const nonceBatch = 2 ** 20;

export class KernelBackend implements Backend {
  readonly #memory: KernelMemory;

  constructor(readonly engine: Engine) {
    this.#memory = new KernelMemory(engine.memory);
  }

  base(count: number): BaseArray {
    const words = this.#memory.words(count);
    this.#clear(words);
    return words;
  }

  ext(count: number): ExtArray {
    return this.base(2 * count);
  }

  doubles(count: number): Float64Array {
    const values = this.#memory.doubles(count);
    this.#clear(values);
    return values;
  }

  mark(): number {
    return this.engine.memory.mark();
  }

  release(mark: number): void {
    this.engine.memory.release(mark as Mark);
  }

  encodeRows(messages: BaseArray, random: BaseArray, rows: number, m: number, logBlowup: number): BaseArray {
    const out = this.#memory.words(rows * 2 ** (m + logBlowup));
    const from = this.#memory.rowAddresses(messages, rows);
    const tail = this.#memory.rowAddresses(random, rows);
    const to = this.#memory.rowAddresses(out, rows);
    const tasks: Task[] = [];
    for (let coset = 0; coset < 2 ** logBlowup; coset += 2) {
      const { roots } = this.engine;
      tasks.push(['encodeRows', from, tail, random.length / rows, m, m + logBlowup, 0, rows, coset, roots, to]);
    }
    this.engine.run(tasks);
    return out;
  }

  hashLeaves(header: number, symbols: BaseArray, rows: number, aux: Uint8Array | undefined): Uint8Array {
    const count = symbols.length / rows;
    const out = this.#memory.bytes(32 * count);
    const [from, to] = [this.#memory.rowAddresses(symbols, rows), out.byteOffset];
    const tail = aux === undefined ? 0 : this.#memory.atBytes(aux);
    this.#split(count, (begin, end) => ['hashLeaves', from, rows, begin, end, header, tail, to]);
    return out;
  }

  hashNodes(digests: Uint8Array, digestBytes: number): Uint8Array {
    const out = this.#memory.bytes(digests.length / 2);
    const [from, to] = [this.#memory.atBytes(digests), out.byteOffset];
    this.#split(out.length / 32, (begin, end) => ['hashNodes', from, begin, end, digestBytes, to]);
    return out;
  }

  counterHashes(prefix: Uint8Array, count: number): Uint8Array {
    const out = this.#memory.bytes(32 * count);
    this.#memory.scratch(() => {
      const at = this.#memory.atBytes(prefix);
      this.#split(count, (begin, end) => ['counterHashes', at, prefix.length, begin, end, out.byteOffset]);
    });
    return out;
  }

  randomElements(prefix: Uint8Array, count: number): BaseArray {
    const out = this.#memory.words(count);
    this.#memory.scratch(() =>
      this.engine.kernels.prf(this.#memory.atBytes(prefix), prefix.length, count, this.#memory.at(out)),
    );
    return out;
  }

  fractionLayer(p: ExtArray, q: ExtArray): Fractions {
    return this.#fractions('fractionLayer', p, q);
  }

  leafLayer(p: BaseArray, q: ExtArray): Fractions {
    return this.#fractions('fractionLeaves', p, q);
  }

  scaledSum(p: ExtArray, q: ExtArray, lambda: Ext): Scaled {
    return this.#scaled('fractionFactors', p, q, lambda);
  }

  leafScaledSum(p: BaseArray, q: ExtArray, lambda: Ext): Scaled {
    return this.#scaled('leafFactors', p, q, lambda);
  }

  productRound(rest: Point | undefined, f: ExtArray, g: ExtArray): RoundValues {
    const [atF, atG, half] = [this.#memory.at(f), this.#memory.at(g), f.length / 4];
    if (rest === undefined) {
      return this.#sumParts(half, (begin, end, out) => ['plainRoundExt', atF, atG, half, begin, end, out]);
    }
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundExt', atF, atG, half, high, low, logLow, begin, end, out];
    });
  }

  fractionRound(rest: Point, a0: ExtArray, a1: ExtArray, b0: ExtArray, b1: ExtArray): RoundValues {
    const [u, v, w, x] = [this.#memory.at(a0), this.#memory.at(a1), this.#memory.at(b0), this.#memory.at(b1)];
    const half = a0.length / 4;
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundFractions', u, v, w, x, half, high, low, logLow, begin, end, out];
    });
  }

  mixedRound(f: ExtArray, g: BaseArray): RoundValues {
    const [atF, atG, half] = [this.#memory.at(f), this.#memory.at(g), g.length / 2];
    return this.#sumParts(half, (begin, end, out) => ['plainRoundMixed', atF, atG, half, begin, end, out]);
  }

  fold(f: ExtArray, r: Ext): ExtArray {
    const half = f.length / 4;
    const own = isResident(f) ? f : this.#memory.copy(f);
    const at = this.#memory.at(own);
    this.#memory.scratch(() => {
      const atR = this.#memory.at(extArray([r]));
      this.#split(half, (begin, end) => ['foldExt', at, half, atR, begin, end, at]);
    });
    return extView(own, 0, half);
  }

  foldBase(f: BaseArray, r: Ext): ExtArray {
    const half = f.length / 2;
    const out = this.#memory.words(2 * half);
    this.#memory.scratch(() => {
      const [at, atR, to] = [this.#memory.at(f), this.#memory.at(extArray([r])), this.#memory.at(out)];
      this.#split(half, (begin, end) => ['foldBase', at, half, atR, begin, end, to]);
    });
    return out;
  }

  addScaled(target: ExtArray, source: ExtArray, factor: Ext): void {
    const to = this.#memory.at(requireResident(target));
    this.#memory.scratch(() => {
      const [from, by] = [this.#memory.at(source), this.#memory.at(extArray([factor]))];
      this.#split(source.length / 2, (begin, end) => [
        'addScaledExt',
        from + 16 * begin,
        by,
        end - begin,
        to + 16 * begin,
      ]);
    });
  }

  addTensors(target: ExtArray, terms: readonly TensorTerm[]): void {
    const to = this.#memory.at(requireResident(target));
    const [rows, count] = [terms[0]!.a.length / 2, terms[0]!.b.length / 2];
    for (let first = 0; first < terms.length; first += tensorTerms) {
      const part = terms.slice(first, first + tensorTerms);
      this.#memory.scratch(() => {
        const a = this.#memory.addressList(part.map((term) => this.#memory.at(term.a)));
        const b = this.#memory.addressList(part.map((term) => this.#memory.at(term.b)));
        const size = Math.max(1, Math.floor(chunk / count));
        this.#parts(rows, (begin, end) => ['addTensors', a, b, part.length, begin, end, count, to], size);
      });
    }
  }

  addPowers(target: ExtArray, y: bigint, factor: Ext): void {
    const to = this.#memory.at(requireResident(target));
    this.#memory.scratch(() => {
      const [base, by] = [this.#memory.at(BigUint64Array.of(y)), this.#memory.at(extArray([factor]))];
      this.engine.kernels.addPowers(base, by, target.length / 2, to);
    });
  }

  powers(z: Ext, count: number): ExtArray {
    const out = this.#memory.words(2 * count);
    this.#memory.scratch(() =>
      this.engine.kernels.powersExt(this.#memory.at(extArray([z])), count, this.#memory.at(out)),
    );
    return out;
  }

  eqTable(point: Point, factor: Ext): ExtArray {
    const out = this.#memory.words(2 ** (point.length + 1));
    this.#memory.scratch(() => {
      const [at, scale] = [this.#memory.at(extArray(point)), this.#memory.at(extArray([factor]))];
      this.engine.kernels.eqTableExt(at, point.length, scale, this.#memory.at(out));
    });
    return out;
  }

  outer(a: ExtArray, b: ExtArray): ExtArray {
    const out = this.#memory.words((a.length * b.length) / 2);
    this.#memory.scratch(() => {
      const [left, right, to] = [this.#memory.at(a), this.#memory.at(b), this.#memory.at(out)];
      this.engine.kernels.outerExt(left, 0, a.length / 2, right, b.length / 2, to);
    });
    return out;
  }

  bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray {
    const middle = weights.length / 2;
    const outerSize = base.length / (middle * inner);
    const out = this.#memory.words(2 * outerSize * inner);
    this.#memory.scratch(() => {
      const [from, by, to] = [this.#memory.at(base), this.#memory.at(weights), this.#memory.at(out)];
      this.engine.run([['bindBase', from, 0, outerSize, middle, inner, 0, inner, by, to]]);
    });
    return out;
  }

  dot(a: ExtArray, b: ExtArray): Ext {
    return this.#memory.scratch(() => {
      const out = this.#memory.words(2);
      this.engine.kernels.dotExt(this.#memory.at(a), this.#memory.at(b), a.length / 2, this.#memory.at(out));
      return extAt(out, 0);
    });
  }

  combine(out: ExtArray, columns: readonly BaseArray[], coefficients: readonly Ext[], constant: Ext): void {
    const to = this.#memory.at(requireResident(out));
    this.#memory.scratch(() => {
      const list = this.#memory.addressList(columns.map((column) => this.#memory.at(column)));
      const [by, plus] = [this.#memory.at(extArray(coefficients)), this.#memory.at(extArray([constant]))];
      this.#split(out.length / 2, (begin, end) => ['combineColumns', list, by, columns.length, plus, begin, end, to]);
    });
  }

  setIntegers(target: BaseArray, values: Float64Array): void {
    const to = this.#memory.at(requireResident(target));
    this.#memory.scratch(() => {
      const from = this.#memory.atDoubles(values);
      this.#split(values.length, (begin, end) => ['fromDoubles', from + 8 * begin, end - begin, to + 8 * begin]);
    });
  }

  countSums(table: Float64Array, terms: readonly SumTerm[], constant: number): void {
    this.#memory.scratch(() => {
      const counts = this.#memory.atDoubles(table);
      const list = terms.map(({ column }) => this.#memory.atDoubles(column));
      const coefficients = Float64Array.from([...terms.map(({ coefficient }) => coefficient), constant]);
      const [columns, by] = [this.#memory.addressList(list), this.#memory.atDoubles(coefficients)];
      const { length } = terms[0]!.column;
      this.engine.kernels.countSums(columns, by, terms.length, 0, length, table.length, counts);
      if (!isResident(table)) table.set(this.engine.memory.doubles(counts, table.length));
    });
  }

  sumProducts(weights: WeightGrid, x: DoubleRows, batch: number, out: DoubleRows): void {
    const { unitStride, inputStride, units, inputs } = weights;
    this.#memory.scratch(() => {
      const [w, from, to] = [this.#memory.atDoubles(weights.data), this.#memory.atRow(x), this.#memory.atRow(out)];
      this.#parts(units, (begin, end) => {
        const grid = [w, unitStride, inputStride, inputs] as const;
        return ['sumProducts', ...grid, from, x.stride, batch, begin, end, to, out.stride];
      });
    });
  }

  subtractOuter(
    a: DoubleRows,
    inputs: number,
    g: DoubleRows,
    outputs: number,
    batch: number,
    factor: number,
    out: DoubleRows,
  ): void {
    this.#memory.scratch(() => {
      const [atA, atG, to] = [this.#memory.atRow(a), this.#memory.atRow(g), this.#memory.atRow(out)];
      this.#parts(inputs, (begin, end) => {
        const from = [atA, a.stride, begin, end, atG, g.stride] as const;
        return ['subtractOuter', ...from, outputs, batch, factor, to, out.stride];
      });
    });
  }

  grind(seed: Uint8Array, bits: number): Uint8Array {
    return this.#memory.scratch(() => {
      const [at, out] = [this.#memory.atBytes(seed), this.#memory.bytes(4)];
      const found = new Uint32Array(out.buffer, out.byteOffset, 1);
      for (let begin = 0; ; begin += nonceBatch) {
        this.engine.kernels.grind(at, begin, begin + nonceBatch, bits, out.byteOffset);
        if (found[0] === begin + nonceBatch) continue;
        const nonce = new Uint8Array(8);
        new DataView(nonce.buffer).setBigUint64(0, BigInt(found[0]!));
        return nonce;
      }
    });
  }

  #clear({ byteOffset, length }: BigUint64Array | Float64Array): void {
    this.#parts(length, (begin, end) => ['clear', end - begin, byteOffset + 8 * begin], clearedAtOnce);
  }

  #fractions(kernel: 'fractionLayer' | 'fractionLeaves', p: BigUint64Array, q: ExtArray): Fractions {
    const half = q.length / 4;
    const out = { p: this.#memory.words(2 * half), q: this.#memory.words(2 * half) };
    const [fromP, fromQ, toP, toQ] = [
      this.#memory.at(p),
      this.#memory.at(q),
      this.#memory.at(out.p),
      this.#memory.at(out.q),
    ];
    this.#split(half, (begin, end) => [kernel, fromP, fromQ, half, begin, end, toP, toQ]);
    return out;
  }

  #scaled(kernel: 'fractionFactors' | 'leafFactors', p: BigUint64Array, q: ExtArray, lambda: Ext): Scaled {
    const out = { scaled: this.#memory.words(q.length), sum: this.#memory.words(q.length) };
    this.#memory.scratch(() => {
      const [fromP, fromQ, by] = [this.#memory.at(p), this.#memory.at(q), this.#memory.at(extArray([lambda]))];
      const [sum, scaled] = [this.#memory.at(out.sum), this.#memory.at(out.scaled)];
      this.#split(q.length / 2, (begin, end) => [kernel, fromP, fromQ, by, begin, end, sum, scaled]);
    });
    return out;
  }

  /** Splits eq(rest, ·) into two small tables and sums the parts of the blocks. */
  #weighted(
    rest: Point,
    task: (high: Offset, low: Offset, logLow: number, begin: number, end: number, out: Offset) => Task,
  ): RoundValues {
    return this.#memory.scratch(() => {
      const logLow = Math.min(rest.length, 10);
      const logHigh = rest.length - logLow;
      const high = this.#memory.at(this.eqTable(rest.slice(0, logHigh), F.ONE));
      const low = this.#memory.at(this.eqTable(rest.slice(logHigh), F.ONE));
      const blocks = 2 ** logHigh;
      return this.#sumParts(blocks, (begin, end, out) => task(high, low, logLow, begin, end, out), 8);
    });
  }

  /** Runs parts that each write (d, e) and adds them up. */
  #sumParts(count: number, task: (begin: number, end: number, out: Offset) => Task, size = chunk): RoundValues {
    return this.#memory.scratch(() => {
      const parts = Math.ceil(count / size);
      const out = this.#memory.words(4 * parts);
      const at = this.#memory.at(out);
      this.engine.run(
        Array.from({ length: parts }, (_, k) => task(k * size, Math.min(count, (k + 1) * size), at + 32 * k)),
      );
      let [d, e] = [F.ZERO, F.ZERO];
      for (let k = 0; k < parts; k++) {
        d = F.add(d, extAt(out, 2 * k));
        e = F.add(e, extAt(out, 2 * k + 1));
      }
      return { d, e };
    });
  }

  #split(count: number, task: (begin: number, end: number) => Task): void {
    const tasks: Task[] = [];
    for (let begin = 0; begin < count; begin += chunk) tasks.push(task(begin, Math.min(count, begin + chunk)));
    this.engine.run(tasks);
  }

  /** Work that is heavy per item: by default as many parts as threads. */
  #parts(
    count: number,
    task: (begin: number, end: number) => Task,
    size = Math.ceil(count / this.engine.threads),
  ): void {
    const tasks: Task[] = [];
    for (let begin = 0; begin < count; begin += size) tasks.push(task(begin, Math.min(count, begin + size)));
    this.engine.run(tasks);
  }
}
