/** A model file as layers and weights for data that was looked at. */
import { readBytes, readJson } from '#libs/client/files';
import {
  exactParameters,
  fractionsOf,
  headOf,
  importOnnx,
  mappedParameters,
  onnxBytesMax,
  planModel,
  readSafetensors,
  realOutputs,
  safetensorsBytesMax,
  withNewHead,
  type ImportedModel,
  type NewHead,
  type OwnUnits,
  type PlanWish,
  type RealParameter,
  type Remedies,
} from '#libs/models';
import { Rejection } from '#attestation/base';
import { parameterShapes, parseNetManifest, sizeOf, type DataHeader, type NetManifest } from '#libs/step';
import { usage } from './data.js';
import { endsOf, endWords, unitsTaken, type EndOptions } from './file-ends.js';
import { whole } from './wish.js';

export interface BroughtOptions extends EndOptions {
  readonly axis?: readonly string[];
  readonly layers?: string;
  readonly map?: string;
  /** Of a new last layer. */
  readonly classes?: string;
}

interface Looked {
  readonly header: DataHeader;
  readonly rows: { readonly train: number; readonly validation: number };
  readonly seed: string;
  readonly wish: PlanWish;
}

interface Brought {
  readonly layers: readonly { readonly op: string; readonly id?: string }[];
  readonly parameters: readonly (RealParameter & { readonly exact?: { fraction: number; values: BigInt64Array } })[];
  readonly messages: readonly string[];
  /** Of an ONNX file, to run it. */
  readonly onnx?: { readonly bytes: Uint8Array; readonly model: ImportedModel; readonly takesIntegers: boolean };
  readonly head?: NewHead;
  readonly remedies?: Remedies;
}

/** @throws ConfigurationError FILE_*, USAGE; Rejection ONNX_*, SAFETENSORS_*, MODEL_INPUT; UnsupportedModel */
export function readBrought(file: string, options: BroughtOptions, looked: Looked): Brought {
  const brought = readFile(file, options, looked);
  return options.classes === undefined ? brought : withNewHead(brought, whole('--classes', options.classes));
}

function readFile(file: string, options: BroughtOptions, looked: Looked): Brought {
  if (/\.onnx$/i.test(file)) return onnxModel(readBytes(file, onnxBytesMax), options, looked);
  if (/\.safetensors$/i.test(file)) return tensorsOf(readBytes(file, safetensorsBytesMax), options, looked);
  throw usage('a file that ends in .onnx or .safetensors', file);
}

function onnxModel(bytes: Uint8Array, options: BroughtOptions, { header, wish }: Looked): Brought {
  const { axis = [], classes } = options;
  const { features } = header;
  const ends = endsOf(bytes, options);
  const real = unitsTaken(ends, header);
  if (options.inputs === 'raw' && real === undefined) {
    throw usage('--inputs raw for features that are numbers', features.dtype);
  }
  const units = classes === undefined ? realOutputs(header) : undefined;
  const answers = ends.outputs === 'raw' ? units : undefined;
  const model = importOnnx(bytes, {
    ...{ a: fractionsOf(header, wish.optimizer).a, sizes: Object.fromEntries(axis.map(sizeOfAxis)) },
    ...(features.dtype === 'tokens' && { freeSize: features.shape[0] }),
    ...(real !== undefined && { real }),
    ...(answers !== undefined && { answers }),
    keepsEnd: header.label.kind === 'real' && classes === undefined,
  });
  checkInput(model, header);
  const takesIntegers = ends.inputs === 'integers' && !model.isTokens;
  const remedies: Remedies = {
    ...(ends.inputs === 'scaled' &&
      !model.isTokens && { first: 'say --inputs raw, if the file takes your own numbers' }),
    ...(units !== undefined &&
      answers === undefined && { last: "say --outputs raw, if the file answers in the label's own unit" }),
  };
  const said = endWords(ends, { takesNumbers: !model.isTokens, answersNumbers: units !== undefined });
  const messages = [...said, ...model.messages];
  const { layers, parameters } = model;
  return { layers, parameters, messages, remedies, onnx: { bytes, model, takesIntegers } };
}

function sizeOfAxis(text: string): readonly [string, number] {
  const [, name, size] = /^(.{1,200})=(\d+)$/.exec(text) ?? [];
  if (name === undefined || size === undefined) throw usage('--axis as name=size', text);
  return [name, whole('--axis', size)];
}

/** A net that begins with flatten takes the same numbers in any shape; axes of one element do not matter to it. */
function checkInput({ input, layers, isTokens }: ImportedModel, { features }: DataHeader): void {
  const wide = (shape: readonly number[]): string => shape.filter((side) => side !== 1).join();
  const isSame = String(input.shape) === String(features.shape);
  const isFlat = layers[0]?.op === 'flatten' && wide(input.shape) === wide(features.shape);
  const isRow = features.shape.length === 1 && layers[0]?.op === 'flatten' && sizeOf(input.shape) === features.shape[0];
  if (isTokens === (features.dtype === 'tokens') && (isSame || isFlat || isRow)) return;
  const kind = (tokens: boolean): string => (tokens ? 'tokens' : 'numbers');
  throw new Rejection('MODEL_INPUT', {
    expected: `records of ${kind(isTokens)} [${input.shape.join()}], as the file takes them`,
    got: `${kind(features.dtype === 'tokens')} [${features.shape.join()}] in the data`,
    rule: 'libs/models/README.md',
    action:
      isTokens && features.dtype !== 'tokens'
        ? "say --inputs raw, if the file's integers are your own numbers and no tokens"
        : 'give data of that shape, pictures and arrays with channels last (--size resizes pictures)',
  });
}

/** Tensors are weights alone: the layers come from a file, or from the planner. */
function tensorsOf(bytes: Uint8Array, { layers: path, map, classes }: BroughtOptions, looked: Looked): Brought {
  const m = netFrom(path, looked);
  const units = realOutputs(looked.header);
  const tensors = readSafetensors(bytes);
  const layers = m.layers.map((layer) => ({ ...layer, op: String(layer.op), id: String(layer.id) }));
  const head = classes === undefined ? undefined : headOf({ layers });
  // Tensors of a head that is to be new are left where they are, whatever their shape.
  const shapes = parameterShapes(m).filter(({ layer }) => layer !== head);
  const parameters = mappedParameters(
    tensors,
    shapes,
    map === undefined ? undefined : withoutHead(readJson(map), head),
  );
  const exact =
    map === undefined && !(head !== undefined && path === undefined) ? exactParameters(m, tensors) : undefined;
  return {
    layers,
    parameters: parameters.map((one, i) => ({
      ...one,
      ...(exact !== undefined && { exact: { fraction: shapes[i]!.fraction, values: exact[i]!.values } }),
    })),
    ...(units !== undefined && head === undefined && { remedies: { last: scaledBy(units) } }),
    messages: [
      `Tensors are weights alone; the layers are those of ${path ?? 'the planner, for no --layers were given'}.`,
      ...(exact === undefined ? [] : ['The file has the exact integers of a former run, and they are taken.']),
    ],
  };
}

/** What makes weights that answer in the label's own unit those of this data set. */
function scaledBy({ center, scale }: OwnUnits): string {
  return `where the weights answer in the label's own unit, take ${center.join(', ')} from the bias of the last layer, and divide its bias and weights by ${scale.join(', ')}`;
}

/** A map without what it says of the head's tensors. */
function withoutHead(json: unknown, head: string | undefined): unknown {
  const map = typeof json === 'object' && json !== null ? (json as { map?: unknown }).map : undefined;
  if (head === undefined || typeof map !== 'object' || map === null) return json;
  const isOfHead = (to: unknown): boolean => typeof to === 'string' && to.startsWith(`${head}.`);
  return { ...(json as object), map: Object.fromEntries(Object.entries(map).filter(([, to]) => !isOfHead(to))) };
}

/** @throws ConfigurationError USAGE where the file is neither a manifest nor a list */
function netFrom(path: string | undefined, { wish, ...data }: Looked): NetManifest {
  if (path === undefined) return planModel({ ...data, ...wish }).manifest;
  const json = readJson(path);
  if (!Array.isArray(json)) return parseNetManifest(json);
  const layers = json.filter((layer): layer is object => typeof layer === 'object' && layer !== null);
  if (layers.length !== json.length) throw usage('--layers as a manifest, or as a list of its layers', path);
  return planModel({ ...data, ...wish, brought: { layers } }).manifest;
}
