/** The layers of an imported net in float64, by their definitions in real numbers: what an import is compared with. */
import type { ImportedModel } from '#libs/models';

interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

type Layer = ImportedModel['layers'][number];
type Parameters = Readonly<Record<'W' | 'b', Float64Array | undefined>>;

/** Abramowitz and Stegun 7.1.26 is too coarse here: Simpson's rule on the integral. */
function erf(x: number): number {
  const end = Math.min(Math.abs(x), 6);
  const steps = 400;
  const h = end / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++)
    sum += Math.exp(-((i * h) ** 2)) * (i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2);
  return (Math.sign(x) * 2 * sum * h) / 3 / Math.sqrt(Math.PI);
}

const pointwise: Readonly<Record<string, (x: number) => number>> = {
  dropout: (x) => x,
  flatten: (x) => x,
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  relu: (x) => Math.max(0, x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};

function product(x: Tensor, { W, b }: Parameters, out: number): Tensor {
  const K = x.shape.at(-1)!;
  const rows = x.values.length / K;
  const values = new Float64Array(rows * out);
  for (let r = 0; r < rows; r++) {
    for (let o = 0; o < out; o++) {
      let sum = b?.[o] ?? 0;
      for (let k = 0; k < K; k++) sum += x.values[r * K + k]! * W![k * out + o]!;
      values[r * out + o] = sum;
    }
  }
  return { shape: [...x.shape.slice(0, -1), out], values };
}

/** Windows of an image as rows. */
function columns(x: Tensor, k: readonly number[], stride: readonly number[], pad: readonly number[]): Tensor {
  const [H, W, C] = x.shape as [number, number, number];
  const [k0, k1] = k as [number, number];
  const side = (size: number, before: number, after: number, kernel: number, step: number): number =>
    Math.floor((size + before + after - kernel) / step) + 1;
  const [rows, places] = [side(H, pad[0]!, pad[2]!, k0, stride[0]!), side(W, pad[1]!, pad[3]!, k1, stride[1]!)];
  const width = k0 * k1 * C;
  const values = new Float64Array(rows * places * width);
  for (let py = 0; py < rows; py++) {
    for (let px = 0; px < places; px++) {
      for (let at = 0; at < width; at++) {
        const [ch, kx, ky] = [at % C, Math.floor(at / C) % k1, Math.floor(at / C / k1)];
        const [y, z] = [py * stride[0]! + ky - pad[0]!, px * stride[1]! + kx - pad[1]!];
        const isInside = y >= 0 && y < H && z >= 0 && z < W;
        values[(py * places + px) * width + at] = isInside ? x.values[(y * W + z) * C + ch]! : 0;
      }
    }
  }
  return { shape: [rows, places, width], values };
}

function pooled(x: Tensor, k: readonly number[], reduce: (window: readonly number[]) => number): Tensor {
  const C = x.shape[2]!;
  const { shape, values } = columns(x, k, k, [0, 0, 0, 0]);
  const cells = k[0]! * k[1]!;
  const out = Float64Array.from({ length: shape[0]! * shape[1]! * C }, (_, i) =>
    reduce(Array.from({ length: cells }, (_, cell) => values[Math.floor(i / C) * cells * C + cell * C + (i % C)]!)),
  );
  return { shape: [shape[0]!, shape[1]!, C], values: out };
}

const mean = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length;

function normalised(x: Tensor, { W, b }: Parameters, eps: number, isCentred: boolean): Tensor {
  const D = x.shape.at(-1)!;
  const values = new Float64Array(x.values.length);
  for (let at = 0; at < values.length; at += D) {
    const row = Array.from(x.values.subarray(at, at + D));
    const middle = isCentred ? mean(row) : 0;
    const scale = 1 / Math.sqrt(mean(row.map((value) => (value - middle) ** 2)) + eps);
    row.forEach((value, i) => (values[at + i] = (value - middle) * scale * W![i]! + (b?.[i] ?? 0)));
  }
  return { shape: x.shape, values };
}

function attention([q, k, v]: readonly Tensor[], heads: number, isCausal: boolean): Tensor {
  const [T, C] = q!.shape as [number, number];
  const d = C / heads;
  const values = new Float64Array(T * C);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < T; i++) {
      const keys = Array.from({ length: isCausal ? i + 1 : T }, (_, j) => j);
      const dot = (j: number): number =>
        Array.from({ length: d }, (_, c) => q!.values[i * C + h * d + c]! * k!.values[j * C + h * d + c]!).reduce(
          (x, y) => x + y,
          0,
        ) / Math.sqrt(d);
      const exps = keys.map((j) => Math.exp(dot(j)));
      const sum = exps.reduce((x, y) => x + y, 0);
      for (let c = 0; c < d; c++)
        values[i * C + h * d + c] = keys.reduce(
          (total, j) => total + (exps[j]! / sum) * v!.values[j * C + h * d + c]!,
          0,
        );
    }
  }
  return { shape: [T, C], values };
}

function forward(layer: Layer, inputs: readonly Tensor[], parameters: Parameters, a: number): Tensor {
  const [x] = inputs as [Tensor];
  const { op } = layer;
  const list = (name: string, absent: readonly number[]): readonly number[] =>
    (layer[name] as readonly number[] | undefined) ?? absent;
  const count = (name: string): number => layer[name] as number;
  if (op === 'relu' && layer['abits'] !== undefined) {
    const high = (2 ** count('abits') - 1) * 2 ** -a;
    return { shape: x.shape, values: x.values.map((value) => Math.min(high, Math.max(0, value))) };
  }
  if (op === 'flatten') return { shape: [x.values.length], values: x.values };
  if (op in pointwise) return { shape: x.shape, values: x.values.map(pointwise[op]!) };
  if (op === 'dense') return product(x, parameters, count('out'));
  if (op === 'conv2d')
    return product(
      columns(x, list('k', []), list('stride', [1, 1]), list('pad', [0, 0, 0, 0])),
      parameters,
      count('out'),
    );
  if (op === 'maxpool') return pooled(x, list('k', []), (window) => Math.max(...window));
  if (op === 'avgpool') return pooled(x, list('k', []), mean);
  if (op === 'meanpool') {
    const [T, C] = x.shape as [number, number];
    return {
      shape: [C],
      values: Float64Array.from({ length: C }, (_, c) =>
        mean(Array.from({ length: T }, (_, t) => x.values[t * C + c]!)),
      ),
    };
  }
  if (op === 'add') return { shape: x.shape, values: x.values.map((value, i) => value + inputs[1]!.values[i]!) };
  if (op === 'position') return { shape: x.shape, values: x.values.map((value, i) => value + parameters.W![i]!) };
  if (op === 'embedding') {
    const out = count('out');
    return {
      shape: [x.values.length, out],
      values: Float64Array.from(
        { length: x.values.length * out },
        (_, i) => parameters.W![x.values[Math.floor(i / out)]! * out + (i % out)]!,
      ),
    };
  }
  const eps = layer['eps'] === undefined ? 1e-5 : count('eps') / 4 ** (a + 4);
  if (op === 'layernorm' || op === 'rmsnorm') return normalised(x, parameters, eps, op === 'layernorm');
  if (op === 'attention') return attention(inputs, count('heads'), layer['causal'] as boolean);
  throw new Error(`no layer ${op}`);
}

/** Output of the net for one record, both in the net's order. @param a fraction that `eps` is counted in */
export function floatNet(
  model: Pick<ImportedModel, 'layers' | 'parameters' | 'input'>,
  record: Float64Array,
  a = 8,
): Float64Array {
  const edges = new Map<string, Tensor>([['input', { shape: model.input.shape, values: record }]]);
  let last: Tensor = edges.get('input')!;
  model.layers.forEach((layer, i) => {
    const names =
      layer.in === undefined ? [i === 0 ? 'input' : `n${i - 1}`] : typeof layer.in === 'string' ? [layer.in] : layer.in;
    const own = model.parameters.filter((parameter) => parameter.layer === `n${i}`);
    const parameters = {
      W: own.find(({ kind }) => kind === 'W')?.values,
      b: own.find(({ kind }) => kind === 'b')?.values,
    };
    last = forward(
      layer,
      names.map((name) => edges.get(name)!),
      parameters,
      a,
    );
    edges.set(`n${i}`, last);
  });
  return last.values;
}
