/**
 * A dense layer (libs/step/SPEC.md §4, §7): `Y = RS(A·W + 2^(2a)·b, s)`, the error that it hands back,
 * `RS(G_l·W_lᵀ, g_l + w_l − g_{l-1})`, and its exact update, `W' = W − m·AᵀG`, `b' = b − m·Σ_r G`.
 */
import { isqrt, roundShift } from '../integers.js';
import { contract, mapMatrix, matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LayerScale } from '../scale.js';
import type { LinearOp } from './op.js';
import { emitRoundedProduct, roundingAddend } from './rounding.js';

const limit = 1n << 53n;
const power = (bits: number): bigint => 1n << BigInt(bits);
const halfOf = (s: number): bigint => (s > 0 ? power(s - 1) : 0n);

/** 2^(2a)·2^-s, by which a bias is multiplied where products are scaled by 2^-s. */
const addendScale = ({ aIn, forwardShift }: LayerScale): number => 2 ** (2 * aIn - forwardShift);

/** Emits A^T·G in float32, half the work of float64, and back in float64. */
function emitSingleGradient(graph: GraphBuilder, A: string, G: string): string {
  const single = graph.node('Cast', [G], { to: { int: 1 } });
  return graph.node('Cast', [graph.node('Gemm', [A, single], { transA: { int: 1 } })], { to: { int: 11 } });
}

export const dense: LinearOp = {
  parameters: ({ layer, inputs, outputs, w, beta, weightBits, biasBits }) => [
    {
      ...{ name: `W${layer}`, kind: 'weight', dims: [inputs, outputs], bits: weightBits, fraction: w },
      startLimit: isqrt((6n * 4n ** BigInt(w)) / BigInt(inputs)),
    },
    { name: `b${layer}`, kind: 'bias', dims: [outputs], bits: biasBits, fraction: beta, startLimit: 0n },
  ],
  bounds(scale, batch, move) {
    const { layer, inputs, outputs, inputMax, errorMax, weightBits, biasBits, aIn } = scale;
    const { forwardShift, backwardShift } = scale;
    const where = `layer ${layer}`;
    const weight = power(weightBits);
    const forward = BigInt(inputs) * BigInt(inputMax) * weight + power(2 * aIn + biasBits) + halfOf(forwardShift);
    const change = BigInt(move) * BigInt(batch) * BigInt(inputMax) * BigInt(errorMax);
    const backward = BigInt(outputs) * BigInt(errorMax) * weight;
    return [
      { rule: 'R1', where, value: forward, limit },
      ...(backwardShift === undefined
        ? []
        : [{ rule: 'R2' as const, where, value: backward + halfOf(backwardShift), limit }]),
      { rule: 'R3', where, value: weight + change, limit },
    ];
  },
  forward({ inputs, outputs, aIn, forwardShift }, A, { weight: W, bias: b }) {
    const product = contract(
      A.rows,
      outputs,
      inputs,
      (r, i) => A.data[r * inputs + i]!,
      (i, c) => W[i * outputs + c]!,
    );
    const Z = mapMatrix(product, (value, index) => value + (b[index % outputs]! << BigInt(2 * aIn)));
    return { Z, Y: mapMatrix(Z, (value) => roundShift(value, forwardShift)) };
  },
  backward({ inputs, outputs, backwardShift }, G, { weight: W }) {
    const H = contract(
      G.rows,
      inputs,
      outputs,
      (r, i) => G.data[r * outputs + i]!,
      (i, c) => W[c * outputs + i]!,
    );
    return { H, R: mapMatrix(H, (value) => roundShift(value, backwardShift!)) };
  },
  gradients({ inputs, outputs }, A, G) {
    const weight = contract(
      inputs,
      outputs,
      A.rows,
      (i, r) => A.data[r * inputs + i]!,
      (r, c) => G.data[r * outputs + c]!,
    );
    const bias = matrix(1, outputs, (_, c) => {
      let sum = 0n;
      for (let r = 0; r < G.rows; r++) sum += G.data[r * outputs + c]!;
      return sum;
    });
    return { weight, bias };
  },
  emitAddend(graph, scale, bias) {
    const scaled = graph.node('Mul', [bias, graph.scalar(addendScale(scale))]);
    return graph.node('Add', [scaled, graph.scalar(roundingAddend(scale.forwardShift))]);
  },
  emitBias(graph, scale, addend, output) {
    const scaled = graph.node('Sub', [addend, graph.scalar(roundingAddend(scale.forwardShift))]);
    return graph.node('Mul', [scaled, graph.scalar(1 / addendScale(scale))], {}, output);
  },
  emitForward: (graph, { forwardShift }, A, weight, addend) =>
    emitRoundedProduct(graph, A, weight, addend, forwardShift, 0),
  emitBackward(graph, { backwardShift }, G, { weight }) {
    const s = backwardShift!;
    return emitRoundedProduct(graph, G, weight, graph.scalar(roundingAddend(s)), s, 1);
  },
  /** m scales G rather than the gradient: batch·width products instead of one per weight. */
  emitUpdate(graph, A, G, m, { weight, bias }) {
    const scaled = graph.node('Mul', [G, m]);
    const sum = graph.node('ReduceSum', [scaled, graph.axes(0)], { keepdims: { int: 0 } });
    return {
      weight: graph.node('Gemm', [A, scaled, weight], { alpha: { float: -1 }, transA: { int: 1 } }),
      bias: graph.node('Sub', [bias, sum]),
    };
  },
  emitQuickUpdate(graph, scale, A, { name: G, rows }, { weight, bias: addend }) {
    const ones = graph.float64([1, rows], new Float64Array(rows).fill(1));
    return {
      weight:
        A.single === undefined
          ? graph.node('Gemm', [A.exact, G, weight], { alpha: { float: -1 }, transA: { int: 1 } })
          : graph.node('Sub', [weight, emitSingleGradient(graph, A.single, G)]),
      bias: graph.node('Gemm', [ones, G, addend], { alpha: { float: -addendScale(scale) } }),
    };
  },
  emitFloat: (graph, x, { weight, bias }, output) => graph.node('Gemm', [x, weight, bias], {}, output),
};
