/** Convolution of maps [H, W, C] (libs/step/SPEC.md §22): a dense layer on the rows of `col`, one for each place of the kernel. */
import { refuse } from '../../errors.js';
import { roundShift } from '../../integers.js';
import * as limits from '../../limits.js';
import {
  byteSumsMax,
  byteTermsMax,
  byteWeightMax,
  emitByteProduct,
  emitBytes,
  emitByteSums,
} from '../byte-products.js';
import { computeMax, type NetLayer } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { columnSums, product, transposed } from '../tensor.js';
import { emitColumns, emitFlatColumns, emitPixelErrors, fromColumns, toColumns, type Convolution } from './columns.js';
import {
  backwardShift,
  biasAddend,
  emitBiasAddend,
  emittedRows,
  forwardShift,
  isTrained,
  productBounds,
  productParameters,
  rowsIn,
} from './dense.js';
import { kernelMax } from './maxpool.js';
import type { NetOp } from './op.js';
import { mapsOf } from './window.js';

interface Conv2d {
  readonly k: readonly number[];
  readonly out: number;
  readonly stride: readonly number[];
  /** Top, left, bottom, right. */
  readonly pad: readonly number[];
  readonly bias: boolean;
}

type Layer = NetLayer<Conv2d>;

const rule = 'libs/step/SPEC.md §22';
const foreign = ['groups', 'dilation', 'transposed'];

export const conv2d: NetOp<Conv2d> = {
  members: ['k', 'out', 'stride', 'pad', 'bias', ...foreign],
  arity: 1,
  reads: ['uint8', 'int16', 'int32'],
  drawN: 6,
  parse(read) {
    for (const name of foreign) if (read.has(name)) refuse('OP_MEMBER', `no ${name} in a convolution`, name, rule);
    return {
      k: read.integers('k', 2, 1, kernelMax),
      out: read.integer('out', 1, limits.widthMax),
      stride: read.integers('stride', 2, 1, kernelMax, [1, 1]),
      pad: read.integers('pad', 4, 0, kernelMax, [0, 0, 0, 0]),
      bias: read.boolean('bias', true),
    };
  },
  shape(members, [input], { g }, { id, batch }) {
    const { H, W, C } = mapsOf(input!, id);
    const { k, stride, pad, out, bias } = members;
    const side = (axis: 0 | 1, size: number): number =>
      Math.floor((size + pad[axis]! + pad[axis + 2]! - k[axis]!) / stride[axis]!) + 1;
    const shape = [side(0, H), side(1, W), out];
    if (shape[0]! < 1 || shape[1]! < 1) refuse('OP_SHAPE', `${id}: a kernel within the padded maps`, k, rule);
    const fan = k[0]! * k[1]! * C;
    const columns = batch * shape[0]! * shape[1]! * fan;
    if (columns > limits.edgeElementsMax) {
      refuse('MANIFEST_SIZE', `${id}: at most ${limits.edgeElementsMax} elements under the kernel`, columns, rule);
    }
    const linked = { fan, rows: rowsIn(batch, shape), g, scale: 0, bias };
    return { shape, parameters: productParameters(input!, [fan, out], linked) };
  },
  bounds(layer) {
    const { k, stride, out } = layer.members;
    const spread = Math.ceil(k[0]! / stride[0]!) * Math.ceil(k[1]! / stride[1]!);
    return productBounds(layer, fanOf(layer), out, spread);
  },
  forward(layer, [x], { Wc, b }, run) {
    const [fan, { out }] = [fanOf(layer), layer.members];
    const col = toColumns(x!, convolutionOf(layer));
    const rows = col.length / fan;
    const addend = biasAddend(layer, b);
    const s = forwardShift(layer);
    const Z = product(col, Wc!, [rows, fan, out]);
    const data = Z.map((value, i) => run.sat(roundShift(value + (addend?.[i % out] ?? 0n), s), layer.id));
    return {
      output: { dims: [x!.dims[0]!, ...layer.output.shape], data },
      saved: { col: { dims: [rows, fan], data: col } },
    };
  },
  backward(layer, G, { saved: { col } }, { Wc }, [wanted], run) {
    const [rows, fan] = col!.dims as [number, number];
    const { out } = layer.members;
    const gradients = {
      ...(isTrained(layer, 'W') && { W: product(transposed(col!.data, rows, fan), G.data, [fan, rows, out]) }),
      ...(isTrained(layer, 'b') && { b: columnSums(G.data, out) }),
    };
    if (wanted !== true) return { inputs: [undefined], gradients };
    const dcol = product(G.data, transposed(Wc!, fan, out), [rows, out, fan]);
    const sums = fromColumns(dcol, G.dims[0]!, convolutionOf(layer));
    const data = sums.map((value) => run.sat(roundShift(value, backwardShift(layer)), layer.inputs[0]!.id));
    return { inputs: [{ dims: [G.dims[0]!, ...layer.inputs[0]!.shape], data }], gradients };
  },
  emitForward(e, layer, [x], { Wc, b }) {
    const s = forwardShift(layer);
    const addend = emitBiasAddend(e, layer, b);
    const added = addend === undefined ? {} : { addend };
    const bytes = emitByteRows(e, layer, x!);
    const rows = bytes ?? e.rows(emitColumns(e, x!, convolutionOf(layer)), fanOf(layer));
    const y =
      bytes !== undefined && bytesOf(layer) === 2
        ? emitByteProduct(e, rows, Wc!, { ...sizesOf(layer), s, ...added })
        : e.roundedProduct(bytes === undefined ? rows : e.cast(rows, 'float64'), Wc!, s, added);
    const output = e.sat(e.unrows(y, layer.output.shape), layer.output);
    return { output, saved: { [bytes === undefined ? 'col' : 'bytes']: rows } };
  },
  emitBackward(e, layer, G, { saved: { col, bytes } }, { Wc }, [wanted]) {
    const g = e.rows(G, layer.members.out);
    const [ofWeights, ofBias] = [isTrained(layer, 'W'), isTrained(layer, 'b')];
    const total = ofBias || (ofWeights && bytes !== undefined) ? e.columnSums(g, emittedRows(e, layer)) : '';
    const gradients = {
      ...(ofWeights && {
        W:
          bytes === undefined
            ? e.rowSums[layer.members.out < fanOf(layer) ? 'addNarrow' : 'add'](col!, g)
            : emitByteSums(e, bytes, g, { ...sizesOf(layer), bytes: bytesOf(layer), total }),
      }),
      ...(ofBias && { b: total }),
    };
    if (wanted !== true) return { inputs: [undefined], gradients };
    const sums = emitPixelErrors(e, G, Wc!, convolutionOf(layer));
    return { inputs: [e.sat(e.round(sums, backwardShift(layer)), layer.inputs[0]!)], gradients };
  },
  widest: (layer) => layer.output.shape[0]! * layer.output.shape[1]! * fanOf(layer),
  emitFloat(f, layer, [x]) {
    const { k, out, stride, pad, bias } = layer.members;
    const { C } = convolutionOf(layer);
    const [places, taps] = [k[0]! * k[1]!, k[0]! * k[1]! * C];
    // [ky, kx, channel, out] to [out, channel, ky, kx].
    const W = f.rearranged(layer, 'W', [out, C, k[0]!, k[1]!], (i) => {
      const [o, channel, place] = [Math.floor(i / taps), Math.floor(i / places) % C, i % places];
      return (place * C + channel) * out + o;
    });
    const attributes = { kernel_shape: { ints: k }, strides: { ints: stride }, pads: { ints: pad } };
    return f.overChannelsFirst(x!, 'Conv', [W, ...(bias ? [f.parameter(layer, 'b')] : [])], attributes);
  },
  unprovable: () => ['a convolution has no step proof'],
};

/** Bytes of a number that it reads. */
function bytesOf({ inputs }: Layer): 1 | 2 {
  return inputs[0]!.element === 'uint8' ? 1 : 2;
}

function sizesOf(layer: Layer): { readonly taps: number; readonly C: number; readonly out: number } {
  const { k, out } = layer.members;
  return { taps: k[0]! * k[1]!, C: convolutionOf(layer).C, out };
}

/** `col` by bytes, where its products may be taken so: uint8 [rows, …]. */
function emitByteRows(e: NetEmitter, layer: Layer, x: string): string | undefined {
  const { bytes } = e.options;
  const [{ element }, count] = [layer.inputs[0]!, bytesOf(layer)];
  const raw = e.bytesOf(x);
  if (bytes === undefined || element === 'int32' || (element === 'uint8' && raw === undefined)) return undefined;
  const isFew = count * fanOf(layer) <= byteTermsMax && emittedRows(e, layer) <= byteSumsMax;
  const fits = isFew && computeMax(layer.parameters.W!) <= byteWeightMax;
  if (!fits || bytes.ofLoss.has(layer.output.id)) return undefined;
  const convolution = convolutionOf(layer);
  if (count === 2)
    return e.rows(
      emitColumns(e, x, convolution, (maps) => emitBytes(e, maps)),
      2 * fanOf(layer),
    );
  const columns = convolution.C === 1 ? emitFlatColumns : emitColumns;
  return e.rows(columns(e, raw!, convolution), fanOf(layer));
}

function fanOf({ parameters }: Layer): number {
  return parameters.W!.dims[0]!;
}

function convolutionOf({ inputs: [input], output, members, id }: Layer): Convolution {
  const { k, stride, pad } = members;
  const [top, left] = pad as [number, number];
  return { ...mapsOf(input!, id), out: output.shape, k, stride, top, left };
}
