/** Layers in ordinary float32, forward and backward, as nodes: what a trainer without rounding computes. */
import { emitColumns, emitPixelErrors, type Convolution } from './float-columns.js';
import type { FloatGraph } from './float-graph.js';

/** A layer in a net: sizes of its edges without the batch, names of its parameters. */
export interface Place {
  readonly members: Readonly<Record<string, unknown>>;
  readonly inputs: readonly (readonly number[])[];
  readonly output: readonly number[];
  /** Records of a step. */
  readonly batch: number;
  readonly W?: string;
  readonly b?: string;
}

export interface Passed {
  readonly output: string;
  /** @param wanted whether anybody reads the error of each input @returns those errors, and gradients of W and b */
  readonly back: (
    G: string,
    wanted: readonly boolean[],
  ) => {
    readonly inputs: readonly (string | undefined)[];
    readonly W?: string;
    readonly b?: string;
  };
}

type FloatOp = (f: FloatGraph, place: Place, inputs: readonly string[]) => Passed;

const transA = { transA: { int: 1 } } as const;
const transB = { transB: { int: 1 } } as const;

/** Rows of an output: all its axes but the last. */
function rowsOf({ batch, output }: Place): number {
  return output.slice(0, -1).reduce((rows, size) => rows * size, batch);
}

/** A product of rows with W, with its way back. */
function product(
  f: FloatGraph,
  place: Place,
  x: string,
): { y: string; back: (g: string, wanted: readonly boolean[]) => { W: string; b?: string; x?: string } } {
  const { W, b } = place;
  const y = f.node('Gemm', [x, W!, ...(b === undefined ? [] : [b])]);
  const back = (g: string, [isWanted]: readonly boolean[]) => ({
    W: f.node('Gemm', [x, g], transA),
    ...(b !== undefined && { b: f.columnSums(g, rowsOf(place)) }),
    ...(isWanted === true && { x: f.node('Gemm', [g, W!], transB) }),
  });
  return { y, back };
}

const dense: FloatOp = (f, place, [x]) => {
  const [fan, out] = [place.inputs[0]!.at(-1)!, place.output.at(-1)!];
  const { scale } = place.members as { scale: number };
  const stretched = (values: string) => (scale === 0 ? values : f.mul(values, f.scalar(2 ** scale)));
  const { y, back } = product(f, place, f.rows(x!, fan));
  return {
    output: f.reshape(stretched(y), [-1, ...place.output]),
    back(G, wanted) {
      const { x: error, ...gradients } = back(stretched(f.rows(G, out)), wanted);
      return { inputs: [error && f.reshape(error, [-1, ...place.inputs[0]!])], ...gradients };
    },
  };
};

const conv2d: FloatOp = (f, place, [x]) => {
  const [H, W, C] = place.inputs[0] as [number, number, number];
  const { k, stride, pad } = place.members as { k: number[]; stride: number[]; pad: number[] };
  const convolution: Convolution = { H, W, C, out: place.output, k, stride, top: pad[0]!, left: pad[1]! };
  const { y, back } = product(f, place, f.rows(emitColumns(f, x!, convolution), k[0]! * k[1]! * C));
  return {
    output: f.reshape(y, [-1, ...place.output]),
    back(G, [isWanted]) {
      const gradients = back(f.rows(G, place.output[2]!), [false]);
      return { inputs: [isWanted === true ? emitPixelErrors(f, G, place.W!, convolution) : undefined], ...gradients };
    },
  };
};

const relu: FloatOp = (f, _, [x]) => {
  const output = f.node('Relu', [x!]);
  const back = (G: string) => {
    const isPositive = f.node('Cast', [f.node('Greater', [output, f.scalar(0)])], { to: { int: 1 } });
    return { inputs: [f.mul(G, isPositive)] };
  };
  return { output, back };
};

const gelu: FloatOp = (f, _, [x]) => {
  const twice = f.add(f.node('Erf', [f.mul(x!, f.scalar(Math.SQRT1_2))]), f.scalar(1));
  const share = f.mul(twice, f.scalar(0.5));
  const back = (G: string) => {
    const density = f.node('Exp', [f.mul(f.mul(x!, x!), f.scalar(-0.5))]);
    const slope = f.add(share, f.mul(f.mul(x!, density), f.scalar(1 / Math.sqrt(2 * Math.PI))));
    return { inputs: [f.mul(G, slope)] };
  };
  return { output: f.mul(x!, share), back };
};

const maxpool: FloatOp = (f, { members, inputs, output: [h, w, C] }, [x]) => {
  const [k0, k1] = members.k as [number, number];
  const [H, W] = inputs[0] as [number, number, number];
  const parts = Array.from({ length: k0 * k1 }, (_, j) => {
    const [y, at] = [Math.floor(j / k1), j % k1];
    return f.slice(f.slice(x!, 1, y, y + (h! - 1) * k0 + 1, k0), 2, at, at + (w! - 1) * k1 + 1, k1);
  });
  const output = f.node('Max', parts);
  const back = (G: string) => {
    let rest = G;
    const shares = parts.map((part, j) => {
      if (j === parts.length - 1) return rest;
      const share = f.mul(rest, f.node('Cast', [f.node('Equal', [part, output])], { to: { int: 1 } }));
      rest = f.sub(rest, share);
      return share;
    });
    const rows = Array.from({ length: k0 }, (_, row) =>
      f.reshape(f.concat(shares.slice(row * k1, (row + 1) * k1), 3), [-1, h!, w! * k1 * C!]),
    );
    const whole = f.reshape(f.concat(rows, 2), [-1, h! * k0, w! * k1, C!]);
    const rest2 = [H - h! * k0, W - w! * k1];
    const fits = rest2.every((size) => size === 0);
    return { inputs: [fits ? whole : f.node('Pad', [whole, f.graph.axes(0, 0, 0, 0, 0, ...rest2, 0)])] };
  };
  return { output, back };
};

/** Windows that fill the map. */
const avgpool: FloatOp = (f, { members, inputs, output: [h, w, C] }, [x]) => {
  const [k0, k1] = members.k as [number, number];
  const share = f.scalar(1 / (k0 * k1));
  const tiles = f.reshape(x!, [-1, h!, k0, w!, k1, C!]);
  const back = (G: string) => {
    const spread = f.node('Expand', [
      f.reshape(f.mul(G, share), [-1, h!, 1, w!, 1, C!]),
      f.graph.axes(1, 1, k0, 1, k1, 1),
    ]);
    return { inputs: [f.reshape(spread, [-1, ...inputs[0]!])] };
  };
  return { output: f.mul(f.sum(f.sum(tiles, 4, 0), 2, 0), share), back };
};

const flatten: FloatOp = (f, { inputs, output }, [x]) => ({
  output: f.reshape(x!, [-1, ...output]),
  back: (G) => ({ inputs: [f.reshape(G, [-1, ...inputs[0]!])] }),
});

const add: FloatOp = (f, _, [left, right]) => ({ output: f.add(left!, right!), back: (G) => ({ inputs: [G, G] }) });

const embedding: FloatOp = (f, { members, W, output }, [tokens]) => ({
  output: f.node('Gather', [W!, tokens!]),
  back(G) {
    const { vocab } = members as { vocab: number };
    const identity = Float32Array.from({ length: vocab ** 2 }, (_, i) => (i % (vocab + 1) === 0 ? 1 : 0));
    const oneHot = f.node('Gather', [f.graph.float32([vocab, vocab], identity), f.reshape(tokens!, [-1])]);
    return { inputs: [undefined], W: f.node('Gemm', [oneHot, f.rows(G, output.at(-1)!)], transA) };
  },
});

const position: FloatOp = (f, { W }, [x]) => ({
  output: f.add(x!, W!),
  back: (G) => ({ inputs: [G], W: f.sum(G, 0, 0) }),
});

const rmsnorm: FloatOp = (f, place, [x]) => {
  const { W, output } = place;
  const D = output.at(-1)!;
  const mean = (y: string) => f.node('ReduceMean', [y], { axes: { ints: [-1] }, keepdims: { int: 1 } });
  const inverse = f.node('Reciprocal', [f.node('Sqrt', [f.add(mean(f.mul(x!, x!)), f.scalar(1e-5))])]);
  const n = f.mul(x!, inverse);
  return {
    output: f.mul(n, W!),
    back(G) {
      const dn = f.mul(G, W!);
      const along = f.sub(dn, f.mul(n, mean(f.mul(dn, n))));
      return { inputs: [f.mul(along, inverse)], W: f.columnSums(f.rows(f.mul(n, G), D), rowsOf(place)) };
    },
  };
};

const attention: FloatOp = (f, { members, output: [T, C] }, [q, k, v]) => {
  const { heads, causal } = members as { heads: number; causal: boolean };
  const d = C! / heads;
  const byHead = (x: string) => f.transpose(f.reshape(x, [-1, T!, heads, d]), [0, 2, 1, 3]);
  const whole = (x: string) => f.reshape(f.transpose(x, [0, 2, 1, 3]), [-1, T!, C!]);
  const turned = (x: string) => f.transpose(x, [0, 1, 3, 2]);
  const [Q, K, V] = [q!, k!, v!].map(byHead) as [string, string, string];
  const scale = f.scalar(1 / Math.sqrt(d));
  const hidden = Float32Array.from({ length: T! ** 2 }, (_, i) => (i % T! <= Math.floor(i / T!) ? 0 : -1e9));
  const scores = f.mul(f.node('MatMul', [Q, turned(K)]), scale);
  const P = f.node('Softmax', [causal ? f.add(scores, f.graph.float32([T!, T!], hidden)) : scores]);
  return {
    output: whole(f.node('MatMul', [P, V])),
    back(G) {
      const dO = byHead(G);
      const dP = f.node('MatMul', [dO, turned(V)]);
      const dS = f.mul(f.mul(P, f.sub(dP, f.sum(f.mul(dP, P), -1, 1))), scale);
      const errors = [f.node('MatMul', [dS, K]), f.node('MatMul', [turned(dS), Q]), f.node('MatMul', [turned(P), dO])];
      return { inputs: errors.map(whole) };
    },
  };
};

export const floatOps: Readonly<Record<string, FloatOp>> = {
  ...{ dense, conv2d, relu, gelu, maxpool, avgpool, flatten, add, embedding, position, rmsnorm, attention },
};
