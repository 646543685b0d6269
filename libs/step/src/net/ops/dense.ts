/** A dense layer on the last axis (libs/step/SPEC.md §22): `y = SAT(RS(x·Wc + RS(b, w_b − (a_i+c)), a_i + c − a_o − scale))`. */
import { roundShift } from '../../integers.js';
import { refuse } from '../../errors.js';
import {
  bound,
  computeMax,
  edgeMax,
  roundingValue,
  type Edge,
  type NetBound,
  type NetLayer,
  type ParameterDraft,
} from '../edge.js';
import { byteTermsMax, byteWeightMax, emitDigitProduct } from '../byte-products.js';
import { columnSums, product, rowsOf, transposed } from '../tensor.js';
import type { NetOp } from './op.js';

interface Dense {
  readonly out: number;
  readonly bias: boolean;
  /** Multiplies the output by 2^scale. */
  readonly scale: number;
}

export const dense: NetOp<Dense> = {
  members: ['out', 'bias', 'scale'],
  arity: 1,
  reads: ['uint8', 'int16', 'int32'],
  drawN: 6,
  parse(read) {
    const scale = read.integer('scale', -32, 32, 0);
    const bias = read.boolean('bias', true);
    if (bias && scale !== 0) refuse('OP_MEMBER', 'no bias where scale is not 0', scale, 'libs/step/SPEC.md §22');
    return { out: read.integer('out', 1, 1 << 20), bias, scale };
  },
  shape({ out, bias, scale }, [input], { g }, { batch }) {
    const fan = input!.shape.at(-1)!;
    const shape = [...input!.shape.slice(0, -1), out];
    return {
      shape,
      parameters: productParameters(input!, [fan, out], { fan, rows: rowsIn(batch, shape), g, scale, bias }),
    };
  },
  bounds: (layer) => {
    const [{ out }, fan] = [layer.members, layer.inputs[0]!.shape.at(-1)!];
    return productBounds(layer, fan, out);
  },
  forward(layer, [x], { Wc, b }, run) {
    const { rows, width } = rowsOf(x!);
    const { out } = layer.members;
    const Z = product(x!.data, Wc!, [rows, width, out]);
    const addend = biasAddend(layer, b);
    const s = forwardShift(layer);
    const data = Z.map((value, i) => run.sat(roundShift(value + (addend?.[i % out] ?? 0n), s), layer.id));
    return { output: { dims: [...x!.dims.slice(0, -1), out], data }, saved: {} };
  },
  backward(layer, G, { inputs: [x] }, { Wc }, [wanted], run) {
    const { rows, width } = rowsOf(x!);
    const { out } = layer.members;
    const gradients = {
      ...(isTrained(layer, 'W') && { W: product(transposed(x!.data, rows, width), G.data, [width, rows, out]) }),
      ...(isTrained(layer, 'b') && { b: columnSums(G.data, out) }),
    };
    if (wanted !== true) return { inputs: [undefined], gradients };
    const H = product(G.data, transposed(Wc!, width, out), [rows, out, width]);
    const data = H.map((value) => run.sat(roundShift(value, backwardShift(layer)), layer.inputs[0]!.id));
    return { inputs: [{ dims: x!.dims, data }], gradients };
  },
  emitForward(e, layer, [x], { Wc, digit, b }) {
    const [fan, s] = [layer.inputs[0]!.shape.at(-1)!, forwardShift(layer)];
    const bytes = e.bytesOf(x!);
    const rows = bytes === undefined ? e.rows(x!, fan) : e.fromBytes(e.rows(bytes, fan));
    const addend = emitBiasAddend(e, layer, b);
    const isByDigits = e.options.bytes !== undefined && bytes !== undefined && digit !== undefined;
    const y =
      isByDigits && fan <= byteTermsMax && computeMax(layer.parameters.W!) <= byteWeightMax
        ? emitDigitProduct(e, e.bytesOf(rows)!, digit, s, addend)
        : e.roundedProduct(rows, Wc!, s, { ...(addend !== undefined && { addend }) });
    return { output: e.sat(e.unrows(y, layer.output.shape), layer.output), saved: { rows } };
  },
  emitBackward(e, layer, G, { saved }, { Wc }, [wanted]) {
    const [g, rows] = [e.rows(G, layer.members.out), emittedRows(e, layer)];
    const gradients = {
      ...(isTrained(layer, 'W') && {
        W: e.rowSums.add(saved.rows!, g, {
          ...{ rows, leftMax: Number(layer.inputs[0]!.max) },
          hasDigits: e.options.bytes?.ofLoss.has(layer.output.id) === false,
        }),
      }),
      ...(isTrained(layer, 'b') && { b: e.columnSums(g, rows) }),
    };
    if (wanted !== true) return { inputs: [undefined], gradients };
    const R = e.roundedProduct(g, Wc!, backwardShift(layer), { transposeRight: 1 });
    return { inputs: [e.sat(e.unrows(R, layer.inputs[0]!.shape), layer.inputs[0]!)], gradients };
  },
  emitFloat(f, layer, [x]) {
    const { bias, scale } = layer.members;
    const y = f.node('MatMul', [x!, f.parameter(layer, 'W')]);
    const scaled = scale === 0 ? y : f.node('Mul', [y, f.scalar(2 ** scale)]);
    return bias ? f.node('Add', [scaled, f.parameter(layer, 'b')]) : scaled;
  },
  unprovable: () => ['a dense layer of fxt 2 has no step proof: write the net as an fxt 1 manifest'],
};

type Emitter = Parameters<NetOp<Dense>['emitForward']>[0];

/** A layer of a product, with or without a `scale`. */
type Linear = NetLayer;

function scaleOf({ members }: Linear): number {
  return (members as Partial<Dense>).scale ?? 0;
}

export function forwardShift(layer: Linear): number {
  const { inputs, output, parameters } = layer;
  return inputs[0]!.a + parameters.W!.compute - output.a - scaleOf(layer);
}

export function backwardShift(layer: Linear): number {
  const { inputs, output, parameters } = layer;
  return output.g + parameters.W!.compute - inputs[0]!.g - scaleOf(layer);
}

export function isTrained({ parameters }: NetLayer, role: 'W' | 'b'): boolean {
  return parameters[role]?.isFrozen === false;
}

/** `RS(b, w_b − (a_i + c))`: the bias at the product's fraction. */
export function biasAddend(layer: Linear, b: readonly bigint[] | undefined): readonly bigint[] | undefined {
  return b?.map((value) => roundShift(value, biasShift(layer)));
}

export function emitBiasAddend(e: Emitter, layer: Linear, b: string | undefined): string | undefined {
  return b === undefined ? undefined : e.round(b, biasShift(layer));
}

function biasShift({ inputs, parameters }: Linear): number {
  return parameters.b!.fraction - (inputs[0]!.a + parameters.b!.compute);
}

/** Rules product and error. @param spread products that meet in one element of the error of a convolution's input */
export function productBounds(layer: Linear, fan: number, out: number, spread = 1): readonly NetBound[] {
  const { id, inputs, parameters } = layer;
  const { W, b } = parameters;
  const Wc = computeMax(W!);
  const sum = BigInt(fan) * inputs[0]!.max * Wc;
  const bits = b === undefined ? 0 : b.fraction + b.wint + Math.max(0, -biasShift(layer));
  const ofBias = b === undefined ? 0n : 1n << BigInt(bits);
  const error = BigInt(out * spread) * edgeMax * Wc;
  return [
    bound('PRODUCT', id, roundingValue(sum + ofBias, forwardShift(layer))),
    ...(b === undefined
      ? []
      : [bound('PRODUCT', id, roundingValue(1n << BigInt(b.fraction + b.wint), biasShift(layer)))]),
    ...(inputs[0]!.hasError ? [bound('ERROR', id, roundingValue(error, backwardShift(layer)))] : []),
  ];
}

interface Linked {
  readonly fan: number;
  /** Rows of the layer in a batch. */
  readonly rows: bigint;
  readonly g: number;
  readonly scale: number;
  readonly bias: boolean;
}

/** `W` of a product and the bias of its columns. @param dims of `W`, the outputs last */
export function productParameters(
  { a, max }: Edge,
  dims: readonly number[],
  { fan, rows, g, scale, bias }: Linked,
): readonly ParameterDraft[] {
  const weight: ParameterDraft = {
    ...{ role: 'W', dims, gradientFraction: a + g - scale, gradientMax: rows * max * edgeMax },
    ...{ draw: { n: 6, fan }, decays: true },
  };
  if (!bias) return [weight];
  const ofBias = { dims: [dims.at(-1)!], gradientFraction: g, gradientMax: rows * edgeMax };
  return [weight, { ...ofBias, role: 'b', start: 'zero', decays: false }];
}

/** Rows of a layer in a part of the batch. */
export function emittedRows(e: Emitter, { output }: NetLayer): number {
  return Number(rowsIn(e.options.records, output.shape));
}

/** Rows of a layer in a batch: all axes of its output but the last. */
export function rowsIn(batch: number, shape: readonly number[]): bigint {
  return BigInt(shape.slice(0, -1).reduce((rows, size) => rows * size, batch));
}
