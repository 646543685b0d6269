/** What a prover does over the compiled kernels, beside committing. */
import { extAt, extArray, extView } from '../commit/arrays.js';
import type { BaseArray, DoubleRows, ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { blake3Keys, type HashName } from '../commit/hash.js';
import type { Point } from '../commit/field/multilinear.js';
import { chunk, KernelCommitter } from '../commit/kernel-committer.js';
import { isResident, requireResident } from '../commit/kernel-memory.js';
import type { Offset, Task } from '../commit/kernels/index.js';
import type { Backend, Fractions, RoundValues, SumTerm, TensorTerm, WeightGrid } from './backend.js';

type Scaled = ReturnType<Backend['scaledSum']>;

/** Most terms that the tensor kernel takes. */
const tensorTerms = 32;
/** Nonces tried per call of the search kernel. */
const nonceBatch = 2 ** 20;

export class KernelBackend extends KernelCommitter implements Backend {
  fractionLayer(p: ExtArray, q: ExtArray): Fractions {
    const out = { p: this.memory.words(q.length / 2), q: this.memory.words(q.length / 2) };
    this.#fractions('fractionLayer', p, q, out);
    return out;
  }

  leafLayer(p: BaseArray, q: ExtArray, out: Fractions): void {
    this.#fractions('fractionLeaves', p, q, out);
  }

  scaledSum(p: ExtArray, q: ExtArray, lambda: Ext): Scaled {
    const [scaled, sum] = [p, q].map((own) => (isResident(own) ? own : this.memory.copy(own))) as [ExtArray, ExtArray];
    const [atP, atQ] = [this.memory.at(scaled), this.memory.at(sum)];
    this.memory.scratch(() => {
      const by = this.memory.at(extArray([lambda]));
      this.split(q.length / 2, (begin, end) => ['fractionFactors', atP, atQ, by, begin, end, atQ, atP]);
    });
    return { scaled, sum };
  }

  productRound(rest: Point | undefined, f: ExtArray, g: ExtArray): RoundValues {
    const [atF, atG, half] = [this.memory.at(f), this.memory.at(g), f.length / 4];
    if (rest === undefined) {
      return this.#sumParts(half, (begin, end, out) => ['plainRoundExt', atF, atG, half, begin, end, out]);
    }
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundExt', atF, atG, half, high, low, logLow, begin, end, out];
    });
  }

  fractionRound(rest: Point, a0: ExtArray, a1: ExtArray, b0: ExtArray, b1: ExtArray): RoundValues {
    const [u, v, w, x] = [this.memory.at(a0), this.memory.at(a1), this.memory.at(b0), this.memory.at(b1)];
    const half = a0.length / 4;
    return this.#weighted(rest, (high, low, logLow, begin, end, out) => {
      return ['roundFractions', u, v, w, x, half, high, low, logLow, begin, end, out];
    });
  }

  fold(f: ExtArray, r: Ext): ExtArray {
    const half = f.length / 4;
    const own = isResident(f) ? f : this.memory.copy(f);
    const at = this.memory.at(own);
    this.memory.scratch(() => {
      const atR = this.memory.at(extArray([r]));
      this.split(half, (begin, end) => ['foldExt', at, half, atR, begin, end, at]);
    });
    return extView(own, 0, half);
  }

  addScaled(target: ExtArray, source: ExtArray, factor: Ext): void {
    const to = this.memory.at(requireResident(target));
    this.memory.scratch(() => {
      const [from, by] = [this.memory.at(source), this.memory.at(extArray([factor]))];
      this.split(source.length / 2, (begin, end) => [
        'addScaledExt',
        from + 16 * begin,
        by,
        end - begin,
        to + 16 * begin,
      ]);
    });
  }

  addTensors(target: ExtArray, terms: readonly TensorTerm[]): void {
    const to = this.memory.at(requireResident(target));
    const [rows, count] = [terms[0]!.a.length / 2, terms[0]!.b.length / 2];
    for (let first = 0; first < terms.length; first += tensorTerms) {
      const part = terms.slice(first, first + tensorTerms);
      this.memory.scratch(() => {
        const a = this.memory.addressList(part.map((term) => this.memory.at(term.a)));
        const b = this.memory.addressList(part.map((term) => this.memory.at(term.b)));
        const columns = this.memory.words(6 * part.length * Math.ceil(count / 2)).byteOffset;
        this.engine.kernels.splitTensors(b, part.length, count, columns);
        const size = Math.max(1, Math.floor(chunk / count));
        this.parts(rows, (begin, end) => ['addTensors', a, columns, part.length, begin, end, count, to], size);
      });
    }
  }

  addPowers(target: ExtArray, y: bigint, factor: Ext): void {
    const to = this.memory.at(requireResident(target));
    this.memory.scratch(() => {
      const [base, by] = [this.memory.at(BigUint64Array.of(y)), this.memory.at(extArray([factor]))];
      this.engine.kernels.addPowers(base, by, target.length / 2, to);
    });
  }

  addReversed(target: ExtArray, real: BaseArray, imaginary: BaseArray, s: bigint): void {
    const to = this.memory.at(requireResident(target));
    this.memory.scratch(() => {
      const [base, a, b] = [this.memory.at(BigUint64Array.of(s)), this.memory.at(real), this.memory.at(imaginary)];
      this.engine.kernels.addReversed(base, a, b, Math.log2(real.length), target.length / 2, to);
    });
  }

  eqTable(point: Point, factor: Ext): ExtArray {
    const out = this.memory.words(2 ** (point.length + 1));
    this.memory.scratch(() => {
      const [at, scale] = [this.memory.at(extArray(point)), this.memory.at(extArray([factor]))];
      this.engine.kernels.eqTableExt(at, point.length, scale, this.memory.at(out));
    });
    return out;
  }

  outer(a: ExtArray, b: ExtArray): ExtArray {
    const out = this.memory.words((a.length * b.length) / 2);
    this.memory.scratch(() => {
      const [left, right, to] = [this.memory.at(a), this.memory.at(b), this.memory.at(out)];
      this.engine.kernels.outerExt(left, 0, a.length / 2, right, b.length / 2, to);
    });
    return out;
  }

  dot(a: ExtArray, b: ExtArray): Ext {
    return this.memory.scratch(() => {
      const out = this.memory.words(2);
      this.engine.kernels.dotExt(this.memory.at(a), this.memory.at(b), a.length / 2, this.memory.at(out));
      return extAt(out, 0);
    });
  }

  dots(rows: readonly BaseArray[], weights: ExtArray): ExtArray {
    const out = this.memory.words(2 * rows.length);
    this.memory.scratch(() => {
      const by = this.memory.at(weights);
      const [count, to] = [weights.length / 2, out.byteOffset];
      const tasks = rows.map((row, k): Task => [
        'bindBase',
        this.memory.at(row),
        0,
        1,
        count,
        1,
        0,
        1,
        by,
        to + 16 * k,
      ]);
      this.engine.run(tasks);
    });
    return out;
  }

  combine(out: ExtArray, columns: readonly BaseArray[], coefficients: readonly Ext[], constant: Ext): void {
    const to = this.memory.at(requireResident(out));
    this.memory.scratch(() => {
      const list = this.memory.addressList(columns.map((column) => this.memory.at(column)));
      const [by, plus] = [this.memory.at(extArray(coefficients)), this.memory.at(extArray([constant]))];
      this.split(out.length / 2, (begin, end) => ['combineColumns', list, by, columns.length, plus, begin, end, to]);
    });
  }

  countSums(table: Float64Array, terms: readonly SumTerm[], constant: number): void {
    this.memory.scratch(() => {
      const counts = this.memory.atDoubles(table);
      const list = terms.map(({ column }) => this.memory.atDoubles(column));
      const coefficients = Float64Array.from([...terms.map(({ coefficient }) => coefficient), constant]);
      const [columns, by] = [this.memory.addressList(list), this.memory.atDoubles(coefficients)];
      const { length } = terms[0]!.column;
      this.engine.kernels.countSums(columns, by, terms.length, 0, length, table.length, counts);
      if (!isResident(table)) table.set(this.engine.memory.doubles(counts, table.length));
    });
  }

  sumProducts(weights: WeightGrid, x: DoubleRows, batch: number, out: DoubleRows): void {
    const { unitStride, inputStride, units, inputs } = weights;
    this.memory.scratch(() => {
      const [w, from, to] = [this.memory.atDoubles(weights.data), this.memory.atRow(x), this.memory.atRow(out)];
      this.parts(units, (begin, end) => {
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
    this.memory.scratch(() => {
      const [atA, atG, to] = [this.memory.atRow(a), this.memory.atRow(g), this.memory.atRow(out)];
      this.parts(inputs, (begin, end) => {
        const from = [atA, a.stride, begin, end, atG, g.stride] as const;
        return ['subtractOuter', ...from, outputs, batch, factor, to, out.stride];
      });
    });
  }

  grind(hash: HashName, seed: Uint8Array, bits: number): Uint8Array {
    return this.memory.scratch(() => {
      const [at, out] = [this.memory.atBytes(seed), this.memory.bytes(4)];
      const key = hash === 'keccak' ? undefined : this.memory.atBytes(blake3Keys.nonce);
      const { kernels } = this.engine;
      const found = new Uint32Array(out.buffer, out.byteOffset, 1);
      for (let begin = 0; ; begin += nonceBatch) {
        const end = begin + nonceBatch;
        if (key === undefined) kernels.grind(at, begin, end, bits, out.byteOffset);
        else kernels.blake3Grind(key, at, begin, end, bits, out.byteOffset);
        if (found[0] === end) continue;
        const nonce = new Uint8Array(8);
        new DataView(nonce.buffer).setBigUint64(0, BigInt(found[0]!));
        return nonce;
      }
    });
  }

  #fractions(kernel: 'fractionLayer' | 'fractionLeaves', p: BigUint64Array, q: ExtArray, out: Fractions): void {
    const half = q.length / 4;
    const [toP, toQ] = [this.memory.at(requireResident(out.p)), this.memory.at(requireResident(out.q))];
    this.memory.scratch(() => {
      const [fromP, fromQ] = [this.memory.at(p), this.memory.at(q)];
      this.split(half, (begin, end) => [kernel, fromP, fromQ, half, begin, end, toP, toQ]);
    });
  }

  /** Splits eq(rest, ·) into two small tables and sums the parts of the blocks. */
  #weighted(
    rest: Point,
    task: (high: Offset, low: Offset, logLow: number, begin: number, end: number, out: Offset) => Task,
  ): RoundValues {
    return this.memory.scratch(() => {
      const logLow = Math.min(rest.length, 10);
      const logHigh = rest.length - logLow;
      const high = this.memory.at(this.eqTable(rest.slice(0, logHigh), F.ONE));
      const low = this.memory.at(this.eqTable(rest.slice(logHigh), F.ONE));
      const blocks = 2 ** logHigh;
      return this.#sumParts(blocks, (begin, end, out) => task(high, low, logLow, begin, end, out), 8);
    });
  }

  /** Runs parts that each write (d, e) and adds them up. */
  #sumParts(count: number, task: (begin: number, end: number, out: Offset) => Task, size = chunk): RoundValues {
    return this.memory.scratch(() => {
      const parts = Math.ceil(count / size);
      const out = this.memory.words(4 * parts);
      const at = this.memory.at(out);
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
}
