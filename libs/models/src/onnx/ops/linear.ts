/** Gemm and MatMul with a constant right side: a dense layer, after a flatten where all of the record goes in. */
import { cannot } from '../../errors.js';
import { floatOf, intOf } from '../attributes.js';
import { isConstant, sizeOf, type Constant } from '../constant.js';
import { channelsOf, channelValues, type LayerDraft, type NetDraft, type Value } from '../draft.js';
import { transposed } from '../rearrange.js';
import { constantInput, edgeInput, optionalConstant, type Rule } from '../rule.js';
import { hasRecordAxes, isAxis, isBatch, movedView, placesOf, withoutBatch } from '../view.js';
import { broadcast } from './arithmetic.js';
import { product } from './attention.js';

/** @param W [inputs, out], row-major */
function denseDraft(inputs: number, out: number, W: Float64Array, b: Float64Array | undefined): LayerDraft {
  return {
    op: 'dense',
    members: { out, ...(b === undefined && { bias: false }) },
    W: { dims: [inputs, out], values: W },
    ...(b !== undefined && { b: { dims: [out], values: b } }),
    scaled: (scale, shift) =>
      denseDraft(
        inputs,
        out,
        W.map((value, i) => value * scale[i % out]!),
        movedBias(b, scale, shift),
      ),
    restricted: (channels) =>
      denseDraft(
        inputs,
        channels.length,
        Float64Array.from(
          { length: inputs * channels.length },
          (_, i) => W[Math.floor(i / channels.length) * out + channels[i % channels.length]!]!,
        ),
        b && Float64Array.from(channels, (channel) => b[channel]!),
      ),
  };
}

/** The bias of a layer whose output is scaled and shifted; undefined stays so while there is nothing to add. */
export function movedBias(
  b: Float64Array | undefined,
  scale: Float64Array,
  shift: Float64Array,
): Float64Array | undefined {
  if (b === undefined) return shift.some((value) => value !== 0) ? shift : undefined;
  return b.map((value, i) => value * scale[i]! + shift[i]!);
}

/** `x·W + b` with `W` [K, N] over the last axis of the tensor. */
function linear(draft: NetDraft, x: Value, W: Constant, b: Float64Array | undefined): Value {
  const [K, N] = W.dims as [number, number];
  const back = draft.settledBack(x) ?? x;
  const { edge, view, affine } = draft.whole(back);
  const last = view.dims.at(-1)!;
  if (last.some(isBatch)) cannot('a product over the batch', 'a product over what one record has');
  if (sizeOf(last.map(({ size }) => size)) !== K)
    cannot(`a product of ${sizeOf(last.map(({ size }) => size))} with ${K} rows`, 'matching sizes');
  const isRecord = !view.dims.slice(0, -1).some(hasRecordAxes);
  const width = channelsOf(edge);
  if (!isRecord && !isAxis(last, width, 1)) {
    return cannot(
      'a product over another axis than the channels, or over some of the record',
      'a Flatten, or channels last',
    );
  }
  const order = isRecord
    ? placesOf(withoutBatch({ dims: [last], offset: view.offset }))
    : Int32Array.from({ length: K }, (_, k) => k);
  const rows = new Float64Array(K * N);
  order.forEach((place, k) => rows.set(W.values.subarray(k * N, (k + 1) * N), place * N));
  const { weights, bias } =
    affine === undefined
      ? { weights: rows, bias: b }
      : absorbed(rows, b, N, rowValues(affine.scale, isRecord, width), rowValues(affine.shift, isRecord, width));
  const from = isRecord ? draft.flat(edge) : edge;
  const out = draft.layer(denseDraft(K, N, weights, bias), [...from.shape.slice(0, -1), N], from);
  const lead = movedView({ dims: view.dims.slice(0, -1), offset: 0 }, ({ size, stride }) => ({
    size,
    stride: (stride / width) * N,
  }));
  return { edge: out, view: { dims: [...lead.dims, N === 1 ? [] : [{ size: N, stride: 1 }]], offset: 0 } };
}

function rowValues(values: Float64Array, isRecord: boolean, width: number): Float64Array {
  return (
    (isRecord ? values : channelValues(values, width)) ??
    cannot('constants that differ by row before a product', 'the same for all rows')
  );
}

/** Scale and shift of the input made part of weights [K, N] and bias. */
function absorbed(
  rows: Float64Array,
  b: Float64Array | undefined,
  N: number,
  scale: Float64Array,
  shift: Float64Array,
) {
  const added = new Float64Array(N);
  rows.forEach((value, i) => {
    added[i % N]! += value * shift[Math.floor(i / N)]!;
  });
  return {
    weights: rows.map((value, i) => value * scale[Math.floor(i / N)]!),
    bias: movedBias(b, new Float64Array(N).fill(1), added),
  };
}

function scaledBy(values: Float64Array, factor: number): Float64Array {
  return factor === 1 ? values : values.map((value) => value * factor);
}

const gemm: Rule = (node, inputs, { draft }) => {
  const x = edgeInput(inputs, 0);
  const given = constantInput(inputs, 1, 'right side');
  if (intOf(node, 'transA', 0) !== 0) cannot('transA', 'a Gemm without transA');
  if (given.dims.length !== 2 || x.view.dims.length !== 2) cannot('sides that are no matrices', 'matrices');
  const right = intOf(node, 'transB', 0) === 0 ? given : transposed(given, [1, 0]);
  const W = { ...right, values: scaledBy(right.values, floatOf(node, 'alpha', 1)) };
  const added = optionalConstant(inputs, 2, 'bias');
  if (added !== undefined && added.dims.slice(0, -1).some((size) => size !== 1))
    cannot(`a bias [${added.dims.join()}]`, 'a bias by output');
  const N = W.dims[1]!;
  const b = added && scaledBy(broadcast({ ...added, dims: added.dims.slice(-1) }, [N]), floatOf(node, 'beta', 1));
  return [linear(draft, x, W, b)];
};

const matMul: Rule = (node, inputs, scene) => {
  const right = inputs[1];
  if (right !== undefined && !isConstant(right)) return product(node, inputs, scene);
  const W = constantInput(inputs, 1, 'right side');
  if (W.dims.length !== 2) cannot(`a right side of ${W.dims.length} axes`, 'a matrix');
  return [linear(scene.draft, edgeInput(inputs, 0), W, undefined)];
};

export const linearRules: Readonly<Record<string, Rule>> = { Gemm: gemm, MatMul: matMul };
