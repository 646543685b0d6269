/**
 * Arithmetic on elements of F_p, p = 2^64 − 2^32 + 1, and of its extension by X² = 7 (libs/zk/SPEC.md §1): bigints, or
 * a WebAssembly module of machine words where there is one, about ten times as fast. Operands are canonical. A test
 * compares the two.
 */
import { MODULE_BASE64 } from './scalar-module.js';
import { instantiate } from './wasm.js';

export const P = 0xffffffff00000001n;

/** c0 + c1·X. */
export interface Ext {
  readonly c0: bigint;
  readonly c1: bigint;
}

export interface Arithmetic {
  add(a: bigint, b: bigint): bigint;
  sub(a: bigint, b: bigint): bigint;
  mul(a: bigint, b: bigint): bigint;
  mulExt(a: Ext, b: Ext): Ext;
  /** Σ a_i·b_i over the shorter of the two. */
  dot(a: readonly Ext[], b: readonly Ext[]): Ext;
  /** Of each message Σ weights_k·word_k: big-endian words, at least as many as weights; those beyond are left out. */
  weigh(messages: readonly Uint8Array[], weights: readonly Ext[]): Ext[];
  /** Σ coefficient_j·point^j at every point. */
  horner(coefficients: readonly Ext[], points: readonly bigint[]): Ext[];
}

export const bigintArithmetic: Arithmetic = {
  add: (a, b) => (a + b >= P ? a + b - P : a + b),
  sub: (a, b) => (a < b ? a - b + P : a - b),
  mul: (a, b) => (a * b) % P,
  mulExt: (a, b) => ({ c0: (a.c0 * b.c0 + 7n * a.c1 * b.c1) % P, c1: (a.c0 * b.c1 + a.c1 * b.c0) % P }),
  dot(a, b) {
    let [low, high, cross] = [0n, 0n, 0n];
    for (let i = 0; i < a.length && i < b.length; i++) {
      const [x, y] = [a[i]!, b[i]!];
      low += x.c0 * y.c0;
      high += x.c1 * y.c1;
      cross += x.c0 * y.c1 + x.c1 * y.c0;
    }
    return { c0: (low + 7n * high) % P, c1: cross % P };
  },
  weigh: (messages, weights) =>
    messages.map((message) => {
      const view = viewOf(message);
      let [c0, c1] = [0n, 0n];
      weights.forEach((weight, k) => {
        const word = view.getBigUint64(8 * k);
        c0 += weight.c0 * word;
        c1 += weight.c1 * word;
      });
      return { c0: c0 % P, c1: c1 % P };
    }),
  horner: (coefficients, points) =>
    points.map((point) =>
      coefficients.reduceRight(
        (value, { c0, c1 }) => ({ c0: (value.c0 * point + c0) % P, c1: (value.c1 * point + c1) % P }),
        { c0: 0n, c1: 0n },
      ),
    ),
};

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Exports of kernels/assembly/scalar.ts; words come back signed. */
interface ScalarModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly heapBase: { readonly value: number };
  add(a: bigint, b: bigint): bigint;
  sub(a: bigint, b: bigint): bigint;
  mul(a: bigint, b: bigint): bigint;
  mulExt(a0: bigint, a1: bigint, b0: bigint, b1: bigint): bigint;
  addProduct(a0: bigint, a1: bigint, b0: bigint, b1: bigint): void;
  sumExt(): bigint;
  xPart(): bigint;
  weigh(weights: number, length: number, messages: number, count: number, out: number): void;
  hornerPart(coefficients: number, count: number, states: number, points: number): void;
}

/** @returns undefined where the module does not run */
export function compiledArithmetic(): Arithmetic | undefined {
  const module = instantiate<ScalarModule>(MODULE_BASE64);
  if (module === undefined) return undefined;
  const word = (value: bigint): bigint => BigInt.asUintN(64, value);
  return {
    add: (a, b) => word(module.add(a, b)),
    sub: (a, b) => word(module.sub(a, b)),
    mul: (a, b) => word(module.mul(a, b)),
    mulExt: (a, b) => ({ c0: word(module.mulExt(a.c0, a.c1, b.c0, b.c1)), c1: word(module.xPart()) }),
    dot(a, b) {
      for (let i = 0; i < a.length && i < b.length; i++) {
        const [x, y] = [a[i]!, b[i]!];
        module.addProduct(x.c0, x.c1, y.c0, y.c1);
      }
      return { c0: word(module.sumExt()), c1: word(module.xPart()) };
    },
    ...compiledSums(module),
  };
}

/** What works on many words at once, in the module's memory: as much of it at a time as the memory holds. */
function compiledSums(module: ScalarModule): Pick<Arithmetic, 'weigh' | 'horner'> {
  const base = module.heapBase.value;
  const memory = new Uint8Array(module.memory.buffer);
  const view = new DataView(module.memory.buffer);
  return {
    weigh(messages, weights) {
      const length = weights.length;
      const first = base + 16 * length;
      const perCall = Math.floor((memory.length - first) / (8 * length + 16));
      if (perCall < 1) return bigintArithmetic.weigh(messages, weights);
      weights.forEach(({ c0, c1 }, k) => {
        view.setBigUint64(base + 16 * k, c0);
        view.setBigUint64(base + 16 * k + 8, c1);
      });
      const sums: Ext[] = [];
      for (let from = 0; from < messages.length; from += perCall) {
        const part = messages.slice(from, from + perCall);
        const out = first + 8 * length * part.length;
        part.forEach((message, i) => memory.set(message.subarray(0, 8 * length), first + 8 * length * i));
        module.weigh(base, length, first, part.length, out);
        for (let at = out; at < out + 16 * part.length; at += 16) {
          sums.push({ c0: view.getBigUint64(at), c1: view.getBigUint64(at + 8) });
        }
      }
      return sums;
    },
    horner(coefficients, points) {
      const first = base + 24 * points.length;
      const perCall = Math.floor((memory.length - first) / 16);
      if (perCall < 1) return bigintArithmetic.horner(coefficients, points);
      points.forEach((point, i) => {
        [point, 0n, 0n].forEach((word, k) => view.setBigUint64(base + 24 * i + 8 * k, word, true));
      });
      for (let until = coefficients.length; until > 0; until -= perCall) {
        const part = coefficients.slice(Math.max(0, until - perCall), until);
        part.forEach(({ c0, c1 }, j) => {
          view.setBigUint64(first + 16 * j, c0, true);
          view.setBigUint64(first + 16 * j + 8, c1, true);
        });
        module.hornerPart(first, part.length, base, points.length);
      }
      return points.map((_, i) => {
        const [c0, c1] = [8, 16].map((at) => view.getBigUint64(base + 24 * i + at, true));
        return { c0: c0!, c1: c1! };
      });
    },
  };
}

export const arithmetic: Arithmetic = compiledArithmetic() ?? bigintArithmetic;
