/** The backend in bigint arithmetic, straight from the definitions: slow, and the oracle of every kernel. */
import { blake3 } from '@noble/hashes/blake3.js';
import { keccak_256 as keccak } from '@noble/hashes/sha3.js';
import { embed, extArray, extAt, setExt, toField } from '../commit/arrays.js';
import type { BaseArray, Code, CodeRows, DoubleRows, ExtArray } from '../commit/backend.js';
import { reversedBits } from '../commit/field/reversed-bits.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { GENERATOR, P, mul, pow, rootOfUnity } from '../commit/field/goldilocks.js';
import { blake3Keys, nodeLength, type HashName, type TreeHash } from '../commit/hash.js';
import type { Point } from '../commit/field/multilinear.js';
import { hasLeadingZeros } from '../transcript/transcript.js';
import type { Backend, Fractions, RoundValues, SumTerm, TensorTerm, WeightGrid } from './backend.js';

export const plainBackend: Backend = {
  base: (count) => new BigUint64Array(count),
  ext: (count) => new BigUint64Array(2 * count),
  doubles: (count) => new Float64Array(count),
  mark: () => 0,
  release: () => undefined,
  encodeRows,
  hashLeaves,
  hashNodes,
  counterHashes,
  randomElements,
  fractionLayer,
  leafLayer,
  scaledSum,
  productRound,
  fractionRound,
  fold,
  addScaled,
  addTensors,
  addPowers,
  addReversed,
  powers,
  eqTable,
  outer,
  bind,
  dot,
  dots: (rows, weights) => extArray(rows.map((row) => dot(embed(row), weights))),
  combine,
  setIntegers,
  countSums,
  sumProducts,
  subtractOuter,
  grind,
};

function encodeRows(
  { messages, random }: CodeRows,
  { m, logBlowup }: Code,
  first = 0,
  count = 2 ** logBlowup - first,
): BaseArray {
  const [rows, size] = [messages.length, 2 ** m];
  const tail = random.length / rows;
  const out = new BigUint64Array(rows * size * count);
  messages.forEach((message, row) => {
    const code = encodeRow(message, random.subarray(row * tail, (row + 1) * tail), logBlowup);
    out.set(code.subarray(first * size, (first + count) * size), row * count * size);
  });
  return out;
}

function encodeRow(message: BaseArray, random: BaseArray, logBlowup: number): BaseArray {
  const size = message.length;
  const m = Math.log2(size);
  const out = new BigUint64Array(size * 2 ** logBlowup);
  const cosetRoot = rootOfUnity(m + logBlowup);
  let shift = GENERATOR;
  for (let coset = 0; coset < 2 ** logBlowup; coset++) {
    const block = out.subarray(coset * size, (coset + 1) * size);
    const wrap = pow(shift, BigInt(size));
    let power = 1n;
    for (let j = 0; j < size; j++) {
      const coefficient = j < random.length ? (message[j]! + wrap * random[j]!) % P : message[j]!;
      block[j] = mul(coefficient, power);
      power = mul(power, shift);
    }
    transform(block, rootOfUnity(m));
    shift = mul(shift, cosetRoot);
  }
  return out;
}

/** Decimation in frequency: natural order in, bit-reversed order out. */
function transform(block: BaseArray, root: bigint): void {
  let stepRoot = root;
  for (let half = block.length / 2; half >= 1; half /= 2) {
    for (let start = 0; start < block.length; start += 2 * half) {
      let twiddle = 1n;
      for (let j = start; j < start + half; j++) {
        const [a, b] = [block[j]!, block[j + half]!];
        block[j] = (a + b) % P;
        block[j + half] = ((a + P - b) * twiddle) % P;
        twiddle = mul(twiddle, stepRoot);
      }
    }
    stepRoot = mul(stepRoot, stepRoot);
  }
}

function digestOf(hash: HashName, what: keyof typeof blake3Keys, message: Uint8Array): Uint8Array {
  return hash === 'keccak' ? keccak(message) : blake3(message, { key: blake3Keys[what] });
}

function hashLeaves(hash: HashName, header: number, rows: readonly BaseArray[], aux?: Uint8Array): Uint8Array {
  const count = rows[0]!.length;
  const symbolsEnd = 8 + 8 * rows.length;
  const bytes = new Uint8Array(symbolsEnd + (aux ? 32 : 0));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(header));
  const out = new Uint8Array(32 * count);
  for (let i = 0; i < count; i++) {
    rows.forEach((row, k) => view.setBigUint64(8 + 8 * k, row[i]!));
    if (aux) bytes.set(aux.subarray(32 * i, 32 * i + 32), symbolsEnd);
    out.set(digestOf(hash, 'leaf', bytes), 32 * i);
  }
  return out;
}

function hashNodes({ hash, digestBytes }: TreeHash, digests: Uint8Array): Uint8Array {
  const out = new Uint8Array(digests.length / 2);
  const bytes = new Uint8Array(nodeLength({ hash, digestBytes }));
  if (hash === 'keccak') bytes[2 * digestBytes] = 1;
  for (let i = 0; i < out.length / 32; i++) {
    bytes.set(digests.subarray(64 * i, 64 * i + digestBytes), 0);
    bytes.set(digests.subarray(64 * i + 32, 64 * i + 32 + digestBytes), digestBytes);
    out.set(digestOf(hash, 'node', bytes), 32 * i);
  }
  return out;
}

function counterHashes(prefix: Uint8Array, first: number, count: number): Uint8Array {
  const bytes = new Uint8Array(prefix.length + 8);
  bytes.set(prefix);
  const view = new DataView(bytes.buffer);
  const out = new Uint8Array(32 * count);
  for (let i = 0; i < count; i++) {
    view.setBigUint64(prefix.length, BigInt(first + i));
    out.set(keccak(bytes), 32 * i);
  }
  return out;
}

function randomElements(prefix: Uint8Array, count: number): BaseArray {
  const out = new BigUint64Array(count);
  const bytes = new Uint8Array(prefix.length + 8);
  bytes.set(prefix);
  for (let written = 0, block = 0n; written < count; block++) {
    new DataView(bytes.buffer).setBigUint64(prefix.length, block);
    const words = new DataView(keccak(bytes).buffer);
    for (let k = 0; k < 4 && written < count; k++) {
      const word = words.getBigUint64(8 * k);
      if (word < P) out[written++] = word;
    }
  }
  return out;
}

function fractionLayer(p: ExtArray, q: ExtArray): Fractions {
  const half = p.length / 4;
  const out = { p: new BigUint64Array(2 * half), q: new BigUint64Array(2 * half) };
  for (let x = 0; x < half; x++) {
    const [q0, q1] = [extAt(q, x), extAt(q, x + half)];
    setExt(out.p, x, F.add(F.mul(extAt(p, x), q1), F.mul(extAt(p, x + half), q0)));
    setExt(out.q, x, F.mul(q0, q1));
  }
  return out;
}

function leafLayer(p: BaseArray, q: ExtArray, out: Fractions): void {
  const made = fractionLayer(embed(p), q);
  out.p.set(made.p);
  out.q.set(made.q);
}

function scaledSum(p: ExtArray, q: ExtArray, lambda: Ext): { scaled: ExtArray; sum: ExtArray } {
  const scaled = new BigUint64Array(p.length);
  addScaled(scaled, p, lambda);
  const sum = q.slice();
  addScaled(sum, scaled, F.ONE);
  return { scaled, sum };
}

function productRound(rest: Point | undefined, f: ExtArray, g: ExtArray): RoundValues {
  const weights = rest ? eqTable(rest, F.ONE) : undefined;
  const half = f.length / 4;
  let [d, e] = [F.ZERO, F.ZERO];
  for (let x = 0; x < half; x++) {
    const [f0, f1, g0, g1] = [extAt(f, x), extAt(f, x + half), extAt(g, x), extAt(g, x + half)];
    const rise = F.sub(F.mul(f1, g1), F.mul(f0, g0));
    const bend = F.mul(F.sub(f1, f0), F.sub(g1, g0));
    d = F.add(d, weights ? F.mul(extAt(weights, x), rise) : rise);
    e = F.add(e, weights ? F.mul(extAt(weights, x), bend) : bend);
  }
  return { d, e };
}

function fractionRound(rest: Point, a0: ExtArray, a1: ExtArray, b0: ExtArray, b1: ExtArray): RoundValues {
  const [a, b] = [productRound(rest, a0, a1), productRound(rest, b0, b1)];
  return { d: F.sub(a.d, b.d), e: F.sub(a.e, b.e) };
}

function fold(f: ExtArray, r: Ext): ExtArray {
  const half = f.length / 4;
  const out = new BigUint64Array(2 * half);
  for (let x = 0; x < half; x++) {
    const low = extAt(f, x);
    setExt(out, x, F.add(low, F.mul(r, F.sub(extAt(f, x + half), low))));
  }
  return out;
}

function addScaled(target: ExtArray, source: ExtArray, factor: Ext): void {
  for (let x = 0; x < source.length / 2; x++) {
    setExt(target, x, F.add(extAt(target, x), F.mul(extAt(source, x), factor)));
  }
}

function addTensors(target: ExtArray, terms: readonly TensorTerm[]): void {
  for (const { a, b } of terms) addScaled(target, outer(a, b), F.ONE);
}

function addPowers(target: ExtArray, y: bigint, factor: Ext): void {
  let power = factor;
  for (let x = 0; x < target.length / 2; x++) {
    setExt(target, x, F.add(extAt(target, x), power));
    power = F.scale(power, y);
  }
}

function addReversed(target: ExtArray, real: BaseArray, imaginary: BaseArray, s: bigint): void {
  const m = Math.log2(real.length);
  let power = 1n;
  for (let x = 0; x < target.length / 2; x++) {
    const r = reversedBits(x, m);
    setExt(target, x, F.add(extAt(target, x), F.scale({ c0: real[r]!, c1: imaginary[r]! }, power)));
    power = mul(power, s);
  }
}

function powers(z: Ext, count: number): ExtArray {
  const out = new BigUint64Array(2 * count);
  let power = F.ONE;
  for (let x = 0; x < count; x++) {
    setExt(out, x, power);
    power = F.mul(power, z);
  }
  return out;
}

function eqTable(point: Point, factor: Ext): ExtArray {
  let table: ExtArray = BigUint64Array.of(factor.c0, factor.c1);
  for (const coordinate of point) {
    const complement = F.sub(F.ONE, coordinate);
    table = outer(table, BigUint64Array.of(complement.c0, complement.c1, coordinate.c0, coordinate.c1));
  }
  return table;
}

function outer(a: ExtArray, b: ExtArray): ExtArray {
  const [rows, columns] = [a.length / 2, b.length / 2];
  const out = new BigUint64Array(2 * rows * columns);
  for (let i = 0; i < rows; i++) {
    const factor = extAt(a, i);
    for (let j = 0; j < columns; j++) setExt(out, i * columns + j, F.mul(factor, extAt(b, j)));
  }
  return out;
}

function bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray {
  const middle = weights.length / 2;
  const outerSize = base.length / (middle * inner);
  const out = new BigUint64Array(2 * outerSize * inner);
  for (let o = 0; o < outerSize; o++) {
    for (let i = 0; i < inner; i++) {
      let [c0, c1] = [0n, 0n];
      for (let k = 0; k < middle; k++) {
        const value = base[(o * middle + k) * inner + i]!;
        if (value === 0n) continue;
        c0 += value * weights[2 * k]!;
        c1 += value * weights[2 * k + 1]!;
      }
      setExt(out, o * inner + i, { c0: c0 % P, c1: c1 % P });
    }
  }
  return out;
}

function dot(a: ExtArray, b: ExtArray): Ext {
  let total = F.ZERO;
  for (let i = 0; i < a.length / 2; i++) total = F.add(total, F.mul(extAt(a, i), extAt(b, i)));
  return total;
}

function combine(out: ExtArray, columns: readonly BaseArray[], coefficients: readonly Ext[], constant: Ext): void {
  for (let x = 0; x < out.length / 2; x++) {
    setExt(out, x, F.add(constant, F.sum(columns.map((column, k) => F.scale(coefficients[k]!, column[x]!)))));
  }
}

function setIntegers(target: BaseArray, values: Float64Array): void {
  for (let i = 0; i < values.length; i++) target[i] = toField(values[i]!);
}

function countSums(table: Float64Array, terms: readonly SumTerm[], constant: number): void {
  for (let i = 0; i < terms[0]!.column.length; i++) {
    const v = terms.reduce((sum, { coefficient, column }) => sum + coefficient * column[i]!, 0) + constant;
    if (Number.isInteger(v) && v >= 0 && v < table.length) table[v]! += 1;
  }
}

function sumProducts(weights: WeightGrid, x: DoubleRows, batch: number, out: DoubleRows): void {
  for (let unit = 0; unit < weights.units; unit++) {
    for (let k = 0; k < weights.inputs; k++) {
      const weight = weights.data[unit * weights.unitStride + k * weights.inputStride]!;
      const [from, to] = [x.start + k * x.stride, out.start + unit * out.stride];
      for (let b = 0; b < batch; b++) out.data[to + b]! += weight * x.data[from + b]!;
    }
  }
}

function subtractOuter(
  a: DoubleRows,
  inputs: number,
  g: DoubleRows,
  outputs: number,
  batch: number,
  factor: number,
  out: DoubleRows,
): void {
  for (let i = 0; i < inputs; i++) {
    for (let o = 0; o < outputs; o++) {
      let sum = 0;
      for (let b = 0; b < batch; b++) sum += a.data[a.start + i * a.stride + b]! * g.data[g.start + o * g.stride + b]!;
      out.data[out.start + i * out.stride + o]! -= factor * sum;
    }
  }
}

function grind(hash: HashName, seed: Uint8Array, bits: number): Uint8Array {
  const bytes = new Uint8Array(40);
  bytes.set(seed);
  const view = new DataView(bytes.buffer);
  for (let nonce = 0n; ; nonce++) {
    view.setBigUint64(32, nonce);
    if (hasLeadingZeros(digestOf(hash, 'nonce', bytes), bits)) return bytes.slice(32);
  }
}
