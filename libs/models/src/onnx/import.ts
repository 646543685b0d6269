/** An ONNX file as a net of fxt/2: layers of its manifest and real parameters (libs/models/README.md). */
import { cannot, NodeRefusal, refuse } from '../errors.js';
import { decodeModel, type OnnxModel, type OnnxValue } from './decode.js';
import type { OwnUnits } from '../units.js';
import { sizeOf } from './constant.js';
import type { Affine, Edge, LayerDraft, NetDraft, Value } from './draft.js';
import { Importer, indexOf } from './importer.js';
import { isNchw } from './layout.js';
import type { End } from './ops/end.js';
import { isBatch, recordView, placesOf, withoutBatch } from './view.js';

/** A layer as a manifest has it; what is its default is left out. */
interface ImportedLayer {
  readonly op: string;
  readonly in?: string | readonly string[];
  readonly [member: string]: unknown;
}

export interface RealParameter {
  /** `n0.W`, `n0.b`, … in the order of the net's parameters. */
  readonly name: string;
  readonly layer: string;
  readonly kind: 'W' | 'b';
  readonly dims: readonly number[];
  readonly values: Float64Array;
}

/** A tensor of the file at one end of the net. */
interface Port {
  /** Its name in the file, and its sizes there; the batch is −1. */
  readonly name: string;
  readonly dims: readonly number[];
  /** Of one record of the net. */
  readonly shape: readonly number[];
  /** Place in the record of each element of one record of the file; undefined when they are in the same order. */
  readonly order?: Int32Array;
  /** What the file takes or answers with where these are not the net's own real numbers. */
  readonly real?: OwnUnits;
}

interface InputPort extends Port {
  /** TensorProto.DataType of the file. */
  readonly type: number;
}

export interface ImportedModel {
  readonly producer: string;
  readonly opset: number;
  readonly isTokens: boolean;
  readonly input: InputPort;
  readonly output: Port;
  /** What the file does beyond the layers, which the loss does in training. */
  readonly end?: End;
  readonly layers: readonly ImportedLayer[];
  readonly parameters: readonly RealParameter[];
  /** What whoever imports should know, a sentence each. */
  readonly messages: readonly string[];
}

interface ImportOptions {
  /** Fraction of the edges in the manifest to come; 8 by default. */
  readonly a?: number;
  /** Sizes of free axes by name, the batch's aside, for example `{ "sequence": 64 }`. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** A softmax or sigmoid at the end is part of the model, and not left to a loss; as where there are `answers`. */
  readonly keepsEnd?: boolean;
  /** Size of the one free axis that `sizes` does not name: the length of a sequence. */
  readonly freeSize?: number;
  /** The file takes these numbers in place of the features': what lies between becomes part of its first layer. Without them int32 and int64 are tokens. */
  readonly real?: OwnUnits;
  /** The file answers with these numbers in place of the label's as the data set has it: its last layer takes both. */
  readonly answers?: OwnUnits;
}

/** A size for the batch that is no power of 2, as sizes of heads are, so that no rule takes it for another. */
const freeBatch = 3;

/**
 * @throws Rejection ONNX_MALFORMED, ONNX_LIMIT, ONNX_OPSET, ONNX_EXTERNAL_DATA, ONNX_TYPE, ONNX_SHAPE, ONNX_INPUT,
 *         ONNX_OUTPUT; UnsupportedModel (ONNX_OP_UNSUPPORTED) with every node that has no layer
 */
export function importOnnx(bytes: Uint8Array, options: ImportOptions = {}): ImportedModel {
  const model = decodeModel(bytes);
  const [input, ...others] = model.inputs;
  if (input === undefined || others.length > 0)
    refuse(
      'ONNX_INPUT',
      'one input',
      model.inputs.map(({ name }) => name).join() || 'none',
      'export a model of one input',
    );
  const [output, ...more] = model.outputs;
  if (output === undefined || more.length > 0)
    refuse(
      'ONNX_OUTPUT',
      'one output',
      model.outputs.map(({ name }) => name).join() || 'none',
      'export a model of one output',
    );
  const graph = indexOf(model);
  const importer = new Importer(graph, model, {
    a: options.a ?? 8,
    keepsEnd: options.keepsEnd ?? options.answers !== undefined,
  });
  const entry = entryOf(model, input, options, importer.draft);
  const end = importer.run(input.name, entry.value, output.name, options.answers);
  if (end.view.dims.slice(1).flat().some(isBatch))
    refuse('ONNX_OUTPUT', 'an output with the batch first', 'the batch elsewhere');
  const { layers, parameters } = written(end.edge);
  if (layers.length === 0) refuse('ONNX_OUTPUT', 'at least one layer', 'none');
  return {
    ...{ producer: model.producer, opset: model.opset, isTokens: entry.value.edge.isTokens },
    ...{
      input: {
        ...portOf(input.name, entry.dims, entry.value),
        ...{ type: input.type, ...(options.real !== undefined && { real: options.real }) },
      },
      output: {
        ...portOf(
          output.name,
          end.view.dims.map((axes) => axes.reduce((n, axis) => (axis.stride < 0 ? -n : n * axis.size), 1)),
          end,
        ),
        ...(options.answers !== undefined && { real: options.answers }),
      },
    },
    ...{ layers, parameters, messages: importer.messages },
    ...(importer.end !== undefined && { end: importer.end }),
  };
}

/** The record of the input: images as [H, W, C], whatever the file has. */
function entryOf(
  model: OnnxModel,
  input: OnnxValue,
  options: ImportOptions,
  draft: NetDraft,
): { readonly value: Value; readonly dims: readonly number[] } {
  const { name, type } = input;
  checkSizes(input, options.sizes);
  const isTokens = (type === 6 || type === 7) && options.real === undefined;
  if (![1, 2, 3, 5, 6, 7, 10, 11, 16].includes(type))
    refuse('ONNX_INPUT', `input "${name}" of numbers`, `type ${type}`);
  const [first, ...rest] =
    input.dims ?? refuse('ONNX_INPUT', `input "${name}" with a shape`, 'none', 'export with example inputs');
  if (first === undefined) refuse('ONNX_INPUT', `input "${name}" with a batch axis`, 'a scalar');
  const dims = rest.map((size, k) => {
    const known = typeof size === 'number' ? size : freeSizeOf(size, rest, options);
    if (known === undefined || !Number.isSafeInteger(known) || known < 1) {
      refuse(
        'ONNX_INPUT',
        `a size for axis ${k + 1} of "${name}"`,
        typeof size === 'string' ? `the free size "${size}"` : size,
        typeof size === 'string' ? `say --axis ${size}=SIZE, or export it with a fixed size` : 'export it with a size',
      );
    }
    return known;
  });
  if (typeof first === 'number' && first < 1) refuse('ONNX_INPUT', `a batch of "${name}" from 1`, first);
  const batch = typeof first === 'number' ? first : freeBatch;
  try {
    const isTurned = dims.length === 3 && isNchw(model, name, dims);
    const shape = isTurned ? [dims[1]!, dims[2]!, dims[0]!] : dims.length === 0 ? [1] : dims;
    const edge = draft.input(shape, isTokens);
    if (isTokens && dims.length !== 1) cannot(`tokens [${dims.join()}]`, 'a sequence of tokens a record');
    const view =
      dims.length === 0
        ? { dims: [recordView(batch, [1]).dims[0]!], offset: 0 }
        : recordView(batch, shape, isTurned ? [2, 0, 1] : undefined);
    const affine = options.real && affineFrom(options.real, sizeOf(shape));
    return {
      value: { edge, view, ...(affine !== undefined && { affine }) },
      dims: [typeof first === 'number' ? first : -1, ...dims],
    };
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error;
    return refuse('ONNX_INPUT', error.instead, error.reason);
  }
}

/** A size of an axis that is not there would be passed over without a word. */
function checkSizes({ name, dims }: OnnxValue, sizes: ImportOptions['sizes'] = {}): void {
  const free = (dims ?? []).slice(1).filter((size) => typeof size === 'string');
  const unknown = Object.keys(sizes).find((one) => !free.includes(one));
  if (unknown === undefined) return;
  refuse('ONNX_INPUT', `free axes of "${name}": ${free.join(', ') || 'none'}`, `a size for "${unknown}"`);
}

function freeSizeOf(
  name: string,
  dims: readonly (number | string)[],
  { sizes = {}, freeSize }: ImportOptions,
): number | undefined {
  if (Object.hasOwn(sizes, name)) return sizes[name];
  return dims.filter((size) => typeof size === 'string').length === 1 ? freeSize : undefined;
}

/** @throws NodeRefusal where there are more or fewer of them than features */
function affineFrom({ center, scale }: OwnUnits, size: number): Affine {
  if (center.length !== size) cannot(`a record of ${size} numbers`, `records of ${center.length}, as the data has`);
  return { scale, shift: center };
}

function portOf(name: string, dims: readonly number[], { edge, view }: Value): Port {
  const order = placesOf(withoutBatch(view));
  return { name, dims, shape: edge.shape, ...(order.some((place, i) => place !== i) && { order }) };
}

/** All edges that the end hangs on, in the order in which they were found. */
function reached(end: Edge): readonly Edge[] {
  const found = new Set<Edge>();
  const queue = [end];
  for (let edge = queue.pop(); edge !== undefined; edge = queue.pop()) {
    if (found.has(edge)) continue;
    found.add(edge);
    queue.push(...edge.inputs);
  }
  return [...found].filter(({ layer }) => layer !== undefined).toSorted((x, y) => x.index - y.index);
}

function written(end: Edge): Pick<ImportedModel, 'layers' | 'parameters'> {
  const edges = reached(end);
  const ids = new Map(edges.map((edge, i) => [edge, `n${i}`]));
  const idOf = (edge: Edge): string => ids.get(edge) ?? 'input';
  const layers = edges.map((edge, i): ImportedLayer => {
    const { op, members } = edge.layer!;
    const before = edge.inputs.map(idOf);
    const isNext = before.length === 1 && before[0] === (i === 0 ? 'input' : `n${i - 1}`);
    return { op, ...members, ...(!isNext && { in: before.length === 1 ? before[0]! : before }) };
  });
  const parameters = edges.flatMap((edge) => parametersOf(idOf(edge), edge.layer!));
  return { layers, parameters };
}

function parametersOf(layer: string, draft: LayerDraft): readonly RealParameter[] {
  return (['W', 'b'] as const).flatMap((kind) => {
    const values = draft[kind];
    return values === undefined ? [] : [{ name: `${layer}.${kind}`, layer, kind, ...values }];
  });
}
