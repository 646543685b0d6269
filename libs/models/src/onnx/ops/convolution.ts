/** Conv: NCHW becomes NHWC, kernels [O, I, kh, kw] become [kh·kw·I, O]. */
import { cannot } from '../../errors.js';
import { intOf, intsOf, textOf } from '../attributes.js';
import type { Constant } from '../constant.js';
import type { OnnxNode } from '../decode.js';
import { channelValues, type LayerDraft, type NetDraft, type Value } from '../draft.js';
import { constantInput, edgeInput, optionalConstant, type Rule } from '../rule.js';
import { isAxis, type View } from '../view.js';
import { movedBias } from './linear.js';

interface Window {
  readonly kernel: readonly [number, number];
  readonly strides: readonly [number, number];
  /** Top, left, bottom, right. */
  readonly pads: readonly [number, number, number, number];
}

type Pair = readonly [number, number];

/** The value as an image [batch, C, H, W] over an edge [H, W, C]. */
export function imageOf(draft: NetDraft, given: Value): Value & { readonly sides: readonly [number, number, number] } {
  const value = draft.whole(given);
  const { edge, view } = value;
  const [H, W, C] = edge.shape;
  const isImage =
    view.dims.length === 4 &&
    C !== undefined &&
    edge.shape.length === 3 &&
    isAxis(view.dims[1], C, 1) &&
    isAxis(view.dims[2], H!, W! * C) &&
    isAxis(view.dims[3], W!, C);
  return isImage
    ? { ...value, sides: [H!, W!, C!] }
    : cannot('a tensor that is no image [batch, channels, height, width]', 'an image');
}

export function imageView(batch: View['dims'][number], [H, W, C]: readonly [number, number, number]): View {
  const axis = (size: number, stride: number) => (size === 1 ? [] : [{ size, stride }]);
  return { dims: [batch, axis(C, 1), axis(H, W * C), axis(W, C)], offset: 0 };
}

/** What slides over an image, with auto_pad written out; dilations and other dimensions are refused. */
export function windowOf(node: OnnxNode, kernel: readonly number[] | undefined, sides: Pair): Window {
  if (kernel?.length !== 2) return cannot('a kernel of other than two sides', 'a kernel of two sides');
  if (kernel.some((side) => !(side >= 1 && side <= 1_024)))
    cannot(`a kernel ${kernel.join('x')}`, 'sides of 1 to 1,024');
  const strides = intsOf(node, 'strides') ?? [1, 1];
  if (strides.length !== 2 || strides.some((step) => !(step >= 1 && step <= 1_024)))
    cannot(`strides ${strides.join()}`, 'two strides of 1 to 1,024');
  if ((intsOf(node, 'dilations') ?? []).some((step) => step !== 1)) cannot('dilations', 'a larger kernel or stride');
  const auto = textOf(node, 'auto_pad', 'NOTSET');
  const pads =
    auto === 'NOTSET'
      ? (intsOf(node, 'pads') ?? [0, 0, 0, 0])
      : autoPads(auto, kernel as unknown as Pair, strides as unknown as Pair, sides);
  if (pads.length !== 4 || pads.some((pad) => !(pad >= 0 && pad <= 1_024)))
    cannot(`pads ${pads.join()}`, 'four pads of 0 to 1,024');
  return {
    kernel: kernel as unknown as Pair,
    strides: strides as unknown as Pair,
    pads: pads as unknown as Window['pads'],
  };
}

function autoPads(auto: string, kernel: Pair, strides: Pair, sides: Pair): readonly number[] {
  if (auto === 'VALID') return [0, 0, 0, 0];
  if (auto !== 'SAME_UPPER' && auto !== 'SAME_LOWER') return cannot(`auto_pad ${auto}`, 'pads');
  const halves = [0, 1].map((k) => {
    const total = Math.max(0, (Math.ceil(sides[k]! / strides[k]!) - 1) * strides[k]! + kernel[k]! - sides[k]!);
    const less = Math.floor(total / 2);
    return auto === 'SAME_UPPER' ? [less, total - less] : [total - less, less];
  });
  return [halves[0]![0]!, halves[1]![0]!, halves[0]![1]!, halves[1]![1]!];
}

export function outputSides({ kernel, strides, pads }: Window, [H, W]: Pair): Pair {
  const side = (size: number, k: 0 | 1): number =>
    Math.floor((size + pads[k] + pads[k + 2]! - kernel[k]) / strides[k]) + 1;
  return [side(H, 0), side(W, 1)];
}

function convDraft(
  window: Window,
  rows: number,
  out: number,
  W: Float64Array,
  b: Float64Array | undefined,
): LayerDraft {
  const { kernel, strides, pads } = window;
  return {
    op: 'conv2d',
    members: {
      ...{ k: kernel, out },
      ...(strides.some((step) => step !== 1) && { stride: strides }),
      ...(pads.some((pad) => pad !== 0) && { pad: pads }),
      ...(b === undefined && { bias: false }),
    },
    W: { dims: [rows, out], values: W },
    ...(b !== undefined && { b: { dims: [out], values: b } }),
    scaled: (scale, shift) =>
      convDraft(
        window,
        rows,
        out,
        W.map((value, i) => value * scale[i % out]!),
        movedBias(b, scale, shift),
      ),
  };
}

/** Kernels [O, I, kh, kw] as rows (ky, kx, channel) of O, with the input's scale by channel made part of them. */
function kernelRows({ dims, values }: Constant, scale: Float64Array | undefined): Float64Array {
  const [O, I, kh, kw] = dims as [number, number, number, number];
  const rows = new Float64Array(values.length);
  for (let o = 0; o < O; o++) {
    for (let i = 0; i < I; i++) {
      for (let p = 0; p < kh * kw; p++)
        rows[(p * I + i) * O + o] = values[(o * I + i) * kh * kw + p]! * (scale?.[i] ?? 1);
    }
  }
  return rows;
}

const conv: Rule = (node, inputs, { draft }) => {
  const given = edgeInput(inputs, 0);
  const kernel = constantInput(inputs, 1, 'kernel');
  const x = imageOf(draft, draft.settledBack(given) ?? given);
  const [H, W, C] = x.sides;
  const [O, I, kh, kw] = kernel.dims;
  if (kernel.dims.length !== 4 || O! < 1)
    cannot('a kernel of other than four axes', 'a convolution over two dimensions');
  if (intOf(node, 'group', 1) !== 1) cannot(`${intOf(node, 'group', 1)} groups`, 'a convolution of one group');
  if (I !== C) cannot(`a kernel of ${I} channels over ${C}`, 'matching channels');
  const window = windowOf(node, [kh!, kw!], [H, W]);
  const [rows, b] = convWeights(kernel, optionalConstant(inputs, 2, 'bias'), x, window);
  const sides = outputSides(window, [H, W]);
  const edge = draft.layer(convDraft(window, kh! * kw! * C, O!, rows, b), [...sides, O!], x.edge);
  return [{ edge, view: imageView(x.view.dims[0]!, [...sides, O!]) }];
};

function convWeights(
  kernel: Constant,
  bias: Constant | undefined,
  { affine, edge }: Value,
  { pads }: Window,
): [Float64Array, Float64Array | undefined] {
  const [O, I, kh, kw] = kernel.dims as [number, number, number, number];
  if (bias !== undefined && bias.values.length !== O)
    cannot(`a bias of ${bias.values.length} for ${O} outputs`, 'one a channel');
  const b = bias?.values;
  if (affine === undefined) return [kernelRows(kernel, undefined), b];
  const [scale, shift] = [affine.scale, affine.shift].map((values) => channelValues(values, edge.shape.at(-1)!));
  if (scale === undefined || shift === undefined)
    return cannot('constants that differ by place before a convolution', 'constants by channel');
  if (pads.some((pad) => pad !== 0) && shift.some((value) => value !== 0)) {
    return cannot('a sum with constants before a convolution with padding', 'inputs that are shifted beforehand');
  }
  const added = new Float64Array(O);
  kernel.values.forEach((value, at) => {
    added[Math.floor(at / (I * kh * kw))]! += value * shift[Math.floor(at / (kh * kw)) % I]!;
  });
  return [kernelRows(kernel, scale), movedBias(b, new Float64Array(O).fill(1), added)];
}

export const convolutionRules: Readonly<Record<string, Rule>> = { Conv: conv };
