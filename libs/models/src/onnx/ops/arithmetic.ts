/** Values of pointwise nodes in float64, with ONNX's broadcasting. */
import { cannot } from '../../errors.js';
import { checkedDims, sizeOf, stridesOf, type Constant, type Kind } from '../constant.js';

/** Abramowitz and Stegun 7.1.5 below 3, and Lentz's continued fraction of erfc beyond: to 1e-15. */
function erf(x: number): number {
  const t = Math.abs(x);
  if (Number.isNaN(t)) return NaN;
  if (t < 3) {
    let [term, sum] = [t, t];
    for (let n = 1; n < 200 && Math.abs(term) > 1e-18; n++) {
      term *= -(t * t) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  if (t > 6.5) return Math.sign(x);
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (t + fraction);
  return Math.sign(x) * (1 - Math.exp(-t * t) / (Math.sqrt(Math.PI) * (t + fraction)));
}

export const gelu = (x: number): number => 0.5 * x * (1 + erf(x / Math.SQRT2));
/** The tanh form of GELU, as GPT-2 has it: within 0.0005 of the other. */
export const geluByTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

const unary: Readonly<Record<string, (x: number) => number>> = {
  Abs: Math.abs,
  Ceil: Math.ceil,
  Erf: erf,
  Exp: Math.exp,
  Floor: Math.floor,
  Identity: (x) => x,
  Log: Math.log,
  Neg: (x) => -x,
  Reciprocal: (x) => 1 / x,
  Relu: (x) => Math.max(0, x),
  Sigmoid: logistic,
  Sign: Math.sign,
  Sqrt: Math.sqrt,
  Tanh: Math.tanh,
};

const binary: Readonly<Record<string, (x: number, y: number, kind: Kind) => number>> = {
  Add: (x, y) => x + y,
  Div: (x, y, kind) => (kind === 'int' ? Math.trunc(x / y) : x / y),
  Max: (x, y) => Math.max(x, y),
  Min: (x, y) => Math.min(x, y),
  Mod: (x, y) => x - y * Math.floor(x / y),
  Mul: (x, y) => x * y,
  Pow: (x, y) => x ** y,
  Sub: (x, y) => x - y,
};

const logical: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  And: (x, y) => x !== 0 && y !== 0,
  Equal: (x, y) => x === y,
  Greater: (x, y) => x > y,
  GreaterOrEqual: (x, y) => x >= y,
  Less: (x, y) => x < y,
  LessOrEqual: (x, y) => x <= y,
  Or: (x, y) => x !== 0 || y !== 0,
};

const predicates: Readonly<Record<string, (x: number) => boolean>> = { IsNaN: Number.isNaN, Not: (x) => x === 0 };

/** Numpy's rule, which is ONNX's. */
function broadcastDims(a: readonly number[], b: readonly number[]): readonly number[] {
  const rank = Math.max(a.length, b.length);
  const dims = Array.from({ length: rank }, (_, k) => {
    const [x, y] = [a[k - rank + a.length] ?? 1, b[k - rank + b.length] ?? 1];
    if (x !== y && x !== 1 && y !== 1) cannot(`shapes [${a.join()}] and [${b.join()}]`, 'shapes that go together');
    return x === 1 ? y : x;
  });
  return checkedDims(dims);
}

/** The values of `x` once for each element of `dims`. */
export function broadcast(x: Constant, dims: readonly number[]): Float64Array {
  const size = sizeOf(dims);
  if (x.values.length === 1) return new Float64Array(size).fill(x.values[0]!);
  if (String(x.dims) === String(dims)) return x.values;
  const own = stridesOf(x.dims);
  const lead = dims.length - x.dims.length;
  const steps = dims.map((_, k) => (k < lead || x.dims[k - lead] === 1 ? 0 : own[k - lead]!));
  const values = new Float64Array(size);
  const place = dims.map(() => 0);
  for (let [i, at] = [0, 0]; i < size; i++) {
    values[i] = x.values[at]!;
    for (let k = dims.length - 1; k >= 0; k--) {
      at += steps[k]!;
      if (++place[k]! < dims[k]!) break;
      at -= place[k]! * steps[k]!;
      place[k] = 0;
    }
  }
  return values;
}

const map = (x: Constant, kind: Kind, f: (value: number) => number): Constant => ({
  ...x,
  kind,
  values: x.values.map(f),
});

function combine(a: Constant, b: Constant, kind: Kind, f: (x: number, y: number) => number): Constant {
  const dims = broadcastDims(a.dims, b.dims);
  const [x, y] = [broadcast(a, dims), broadcast(b, dims)];
  return { kind, dims, values: x.map((value, i) => f(value, y[i]!)) };
}

function where(condition: Constant, a: Constant, b: Constant): Constant {
  const dims = broadcastDims(condition.dims, broadcastDims(a.dims, b.dims));
  const [c, x, y] = [broadcast(condition, dims), broadcast(a, dims), broadcast(b, dims)];
  return { kind: a.kind, dims, values: c.map((value, i) => (value !== 0 ? x[i]! : y[i]!)) };
}

function clip(x: Constant, low: Constant | undefined, high: Constant | undefined): Constant {
  const [from, to] = [low?.values[0] ?? -Infinity, high?.values[0] ?? Infinity];
  return map(x, x.kind, (value) => Math.min(to, Math.max(from, value)));
}

/** TensorProto.DataType of a Cast to what the values are then. */
function castTo(x: Constant, type: number): Constant {
  if (type === 9) return map(x, 'bool', (value) => Number(value !== 0));
  if ([2, 3, 5, 6, 7].includes(type)) return map(x, 'int', Math.trunc);
  if ([1, 10, 11, 16].includes(type)) return { ...x, kind: 'float' };
  return cannot(`a Cast to type ${type}`, 'a number or bool');
}

/** @returns the value of a pointwise node, or undefined when `op` is none */
export function pointwise(op: string, inputs: readonly (Constant | undefined)[], to: number): Constant | undefined {
  const [a, b, c] = inputs;
  if (a === undefined) return undefined;
  if (op === 'Cast') return castTo(a, to);
  if (op === 'Clip') return clip(a, b, c);
  if (op === 'Where' && b && c) return where(a, b, c);
  if (Object.hasOwn(unary, op)) return map(a, a.kind, unary[op]!);
  if (Object.hasOwn(predicates, op)) return map(a, 'bool', (x) => Number(predicates[op]!(x)));
  if (Object.hasOwn(logical, op) && b) return combine(a, b, 'bool', (x, y) => Number(logical[op]!(x, y)));
  if (Object.hasOwn(binary, op)) {
    const f = binary[op]!;
    return inputs
      .slice(1)
      .reduce<Constant>((x, y) => (y === undefined ? x : combine(x, y, x.kind, (p, q) => f(p, q, x.kind))), a);
  }
  return undefined;
}

/** Nodes that `pointwise` knows. */
export const pointwiseOps: ReadonlySet<string> = new Set([
  ...['Cast', 'Clip', 'Where'],
  ...[unary, predicates, logical, binary].flatMap((table) => Object.keys(table)),
]);
