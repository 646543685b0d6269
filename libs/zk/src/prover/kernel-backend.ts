/** The backend over the compiled kernels. Arrays it makes lie in the engine's memory and are used in place. */
import * as F from '../field/extension.js';
import type { Ext } from '../field/extension.js';
import type { Point } from '../field/multilinear.js';
import type { Engine, Mark, Offset, Task } from '../kernels/index.js';
import { extAt, extArray, extView } from './arrays.js';
import type { Backend, BaseArray, DoubleRows, ExtArray, Fractions, RoundValues, WeightGrid } from './backend.js';

type Scaled = ReturnType<Backend['scaledSum']>;

/** Indices per task: enough that handing it over costs little. */
const chunk = 2 ** 13;
/** Nonces tried per call of the search kernel. */
const nonceBatch = 2 ** 20;

export class KernelBackend implements Backend {
  constructor(readonly engine: Engine) {}

  base(count: number): BaseArray {
    const words = this.#words(count);
    words.fill(0n);
    return words;
  }

  ext(count: number): ExtArray {
    return this.base(2 * count);
  }

  doubles(count: number): Float64Array {
    const { memory } = this.engine;
    return memory.doubles(memory.allocate(8 * count), count).fill(0);
  }

  mark(): number {
    return this.engine.memory.mark();
  }

  release(mark: number): void {
    this.engine.memory.release(mark as Mark);
  }

  encodeRows(messages: BaseArray, random: BaseArray, rows: number, m: number, logBlowup: number): BaseArray {
    const out = this.#words(rows * 2 ** (m + logBlowup));
    const from = this.#rowAddresses(messages, rows);
    const tail = this.#rowAddresses(random, rows);
    const to = this.#rowAddresses(out, rows);
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
    const out = this.#bytes(32 * count);
    const [from, to] = [this.#rowAddresses(symbols, rows), out.byteOffset];
    const tail = aux === undefined ? 0 : this.#atBytes(aux);
    this.#split(count, (begin, end) => ['hashLeaves', from, rows, begin, end, header, tail, to]);
    return out;
  }

  hashNodes(digests: Uint8Array, digestBytes: number): Uint8Array {
    const out = this.#bytes(digests.length / 2);
    const [from, to] = [this.#atBytes(digests), out.byteOffset];
    this.#split(out.length / 32, (begin, end) => ['hashNodes', from, begin, end, digestBytes, to]);
    return out;
  }

  counterHashes(prefix: Uint8Array, count: number): Uint8Array {
    const out = this.#bytes(32 * count);
    this.#scratch(() => {
      const at = this.#atBytes(prefix);
      this.#split(count, (begin, end) => ['counterHashes', at, prefix.length, begin, end, out.byteOffset]);
    });
    return out;
  }

  randomElements(prefix: Uint8Array, count: number): BaseArray {
    const out = this.#words(count);
    this.#scratch(() => this.engine.kernels.prf(this.#atBytes(prefix), prefix.length, count, this.#at(out)));
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
    const [atF, atG, half] = [this.#at(f), this.#at(g), f.length / 4];
    if (rest === undefined) {
      return this.#sumParts(half, (begin, end, out) => ['plainRoundExt', atF, atG, half, begin, end, out]);
    }
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundExt', atF, atG, half, high, low, logLow, begin, end, out];
    });
  }

  fractionRound(rest: Point, a0: ExtArray, a1: ExtArray, b0: ExtArray, b1: ExtArray): RoundValues {
    const [u, v, w, x] = [this.#at(a0), this.#at(a1), this.#at(b0), this.#at(b1)];
    const half = a0.length / 4;
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundFractions', u, v, w, x, half, high, low, logLow, begin, end, out];
    });
  }

  mixedRound(f: ExtArray, g: BaseArray): RoundValues {
    const [atF, atG, half] = [this.#at(f), this.#at(g), g.length / 2];
    return this.#sumParts(half, (begin, end, out) => ['plainRoundMixed', atF, atG, half, begin, end, out]);
  }

  fold(f: ExtArray, r: Ext): ExtArray {
    const half = f.length / 4;
    const own = isResident(f) ? f : this.#copy(f);
    const at = this.#at(own);
    this.#scratch(() => {
      const atR = this.#at(extArray([r]));
      this.#split(half, (begin, end) => ['foldExt', at, half, atR, begin, end, at]);
    });
    return extView(own, 0, half);
  }

  foldBase(f: BaseArray, r: Ext): ExtArray {
    const half = f.length / 2;
    const out = this.#words(2 * half);
    this.#scratch(() => {
      const [at, atR, to] = [this.#at(f), this.#at(extArray([r])), this.#at(out)];
      this.#split(half, (begin, end) => ['foldBase', at, half, atR, begin, end, to]);
    });
    return out;
  }

  addScaled(target: ExtArray, source: ExtArray, factor: Ext): void {
    const to = this.#at(requireResident(target));
    this.#scratch(() => {
      const [from, by] = [this.#at(source), this.#at(extArray([factor]))];
      this.#split(source.length / 2, (begin, end) => [
        'addScaledExt',
        from + 16 * begin,
        by,
        end - begin,
        to + 16 * begin,
      ]);
    });
  }

  addPowers(target: ExtArray, y: bigint, factor: Ext): void {
    const to = this.#at(requireResident(target));
    this.#scratch(() => {
      const [base, by] = [this.#at(BigUint64Array.of(y)), this.#at(extArray([factor]))];
      this.engine.kernels.addPowers(base, by, target.length / 2, to);
    });
  }

  powers(z: Ext, count: number): ExtArray {
    const out = this.#words(2 * count);
    this.#scratch(() => this.engine.kernels.powersExt(this.#at(extArray([z])), count, this.#at(out)));
    return out;
  }

  eqTable(point: Point, factor: Ext): ExtArray {
    const out = this.#words(2 ** (point.length + 1));
    this.#scratch(() => {
      const [at, scale] = [this.#at(extArray(point)), this.#at(extArray([factor]))];
      this.engine.kernels.eqTableExt(at, point.length, scale, this.#at(out));
    });
    return out;
  }

  outer(a: ExtArray, b: ExtArray): ExtArray {
    const out = this.#words((a.length * b.length) / 2);
    this.#scratch(() => {
      const [left, right, to] = [this.#at(a), this.#at(b), this.#at(out)];
      this.engine.kernels.outerExt(left, 0, a.length / 2, right, b.length / 2, to);
    });
    return out;
  }

  bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray {
    const middle = weights.length / 2;
    const outerSize = base.length / (middle * inner);
    const out = this.#words(2 * outerSize * inner);
    this.#scratch(() => {
      const [from, by, to] = [this.#at(base), this.#at(weights), this.#at(out)];
      this.engine.run([['bindBase', from, 0, outerSize, middle, inner, 0, inner, by, to]]);
    });
    return out;
  }

  dot(a: ExtArray, b: ExtArray): Ext {
    return this.#scratch(() => {
      const out = this.#words(2);
      this.engine.kernels.dotExt(this.#at(a), this.#at(b), a.length / 2, this.#at(out));
      return extAt(out, 0);
    });
  }

  combine(out: ExtArray, columns: readonly BaseArray[], coefficients: readonly Ext[], constant: Ext): void {
    const to = this.#at(requireResident(out));
    this.#scratch(() => {
      const list = this.#addressList(columns.map((column) => this.#at(column)));
      const [by, plus] = [this.#at(extArray(coefficients)), this.#at(extArray([constant]))];
      this.#split(out.length / 2, (begin, end) => ['combineColumns', list, by, columns.length, plus, begin, end, to]);
    });
  }

  setIntegers(target: BaseArray, values: Float64Array): void {
    const to = this.#at(requireResident(target));
    this.#scratch(() => {
      const from = this.#atDoubles(values);
      this.engine.kernels.fromDoubles(from, values.length, to);
    });
  }

  sumProducts(weights: WeightGrid, x: DoubleRows, batch: number, out: DoubleRows): void {
    const { unitStride, inputStride, units, inputs } = weights;
    this.#scratch(() => {
      const [w, from, to] = [this.#atDoubles(weights.data), this.#atRow(x), this.#atRow(out)];
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
    this.#scratch(() => {
      const [atA, atG, to] = [this.#atRow(a), this.#atRow(g), this.#atRow(out)];
      this.#parts(inputs, (begin, end) => {
        const from = [atA, a.stride, begin, end, atG, g.stride] as const;
        return ['subtractOuter', ...from, outputs, batch, factor, to, out.stride];
      });
    });
  }

  grind(seed: Uint8Array, bits: number): Uint8Array {
    return this.#scratch(() => {
      const [at, out] = [this.#atBytes(seed), this.#bytes(4)];
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

  #fractions(kernel: 'fractionLayer' | 'fractionLeaves', p: BigUint64Array, q: ExtArray): Fractions {
    const half = q.length / 4;
    const out = { p: this.#words(2 * half), q: this.#words(2 * half) };
    const [fromP, fromQ, toP, toQ] = [this.#at(p), this.#at(q), this.#at(out.p), this.#at(out.q)];
    this.#split(half, (begin, end) => [kernel, fromP, fromQ, half, begin, end, toP, toQ]);
    return out;
  }

  #scaled(kernel: 'fractionFactors' | 'leafFactors', p: BigUint64Array, q: ExtArray, lambda: Ext): Scaled {
    const out = { scaled: this.#words(q.length), sum: this.#words(q.length) };
    this.#scratch(() => {
      const [fromP, fromQ, by] = [this.#at(p), this.#at(q), this.#at(extArray([lambda]))];
      const [sum, scaled] = [this.#at(out.sum), this.#at(out.scaled)];
      this.#split(q.length / 2, (begin, end) => [kernel, fromP, fromQ, by, begin, end, sum, scaled]);
    });
    return out;
  }

  /** Splits eq(rest, ·) into two small tables and sums the parts of the blocks. */
  #weighted(
    rest: Point,
    task: (high: Offset, low: Offset, logLow: number, begin: number, end: number, out: Offset) => Task,
  ): RoundValues {
    return this.#scratch(() => {
      const logLow = Math.min(rest.length, 10);
      const logHigh = rest.length - logLow;
      const high = this.#at(this.eqTable(rest.slice(0, logHigh), F.ONE));
      const low = this.#at(this.eqTable(rest.slice(logHigh), F.ONE));
      const blocks = 2 ** logHigh;
      return this.#sumParts(blocks, (begin, end, out) => task(high, low, logLow, begin, end, out), 8);
    });
  }

  /** Runs parts that each write (d, e) and adds them up. */
  #sumParts(count: number, task: (begin: number, end: number, out: Offset) => Task, size = chunk): RoundValues {
    return this.#scratch(() => {
      const parts = Math.ceil(count / size);
      const out = this.#words(4 * parts);
      const at = this.#at(out);
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

  /** Work that is heavy per item: as many parts as threads. */
  #parts(count: number, task: (begin: number, end: number) => Task): void {
    const size = Math.ceil(count / this.engine.threads);
    const tasks: Task[] = [];
    for (let begin = 0; begin < count; begin += size) tasks.push(task(begin, Math.min(count, begin + size)));
    this.engine.run(tasks);
  }

  #scratch<T>(use: () => T): T {
    const mark = this.engine.memory.mark();
    const result = use();
    this.engine.memory.release(mark);
    return result;
  }

  /** u32 addresses of the rows of a matrix without gaps. */
  #rowAddresses(matrix: BaseArray, rows: number): Offset {
    const at = this.#at(matrix);
    return this.#addressList(Array.from({ length: rows }, (_, row) => at + (8 * row * matrix.length) / rows));
  }

  #addressList(addresses: readonly Offset[]): Offset {
    const { memory } = this.engine;
    const list = memory.allocate(4 * addresses.length);
    new Uint32Array(memory.wasm.buffer, list, addresses.length).set(addresses);
    return list;
  }

  #words(count: number): BigUint64Array {
    return this.engine.memory.words(this.engine.memory.allocate(8 * count), count);
  }

  #bytes(count: number): Uint8Array {
    return this.engine.memory.bytes(this.engine.memory.allocate(count), count);
  }

  #copy(words: BigUint64Array): BigUint64Array {
    return this.engine.memory.words(this.engine.memory.place(words), words.length);
  }

  #at(words: BigUint64Array): Offset {
    return isResident(words) ? words.byteOffset : this.engine.memory.place(words);
  }

  #atDoubles(values: Float64Array): Offset {
    if (isResident(values)) return values.byteOffset;
    const { memory } = this.engine;
    const at = memory.allocate(8 * values.length);
    memory.doubles(at, values.length).set(values);
    return at;
  }

  /** First double of rows that lie in the engine's memory. */
  #atRow({ data, start }: DoubleRows): Offset {
    if (!isResident(data)) throw new RangeError('rows must lie in the memory of the kernels');
    return data.byteOffset + 8 * start;
  }

  #atBytes(bytes: Uint8Array): Offset {
    return isResident(bytes) ? bytes.byteOffset : this.engine.memory.placeBytes(bytes);
  }
}

/** Only the engine's memory is shared. */
function isResident(array: { readonly buffer: ArrayBufferLike }): boolean {
  return array.buffer instanceof SharedArrayBuffer;
}

function requireResident(array: BigUint64Array): BigUint64Array {
  if (!isResident(array)) throw new RangeError('the target must lie in the memory of the kernels');
  return array;
}
