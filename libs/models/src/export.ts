/** Trained nets for other runtimes: ONNX float32, and safetensors that keep the exact integers too (libs/models/README.md). */
import {
  checkParameters,
  netFloatOnnx,
  netOf,
  parameterShapes,
  type DataHeader,
  type NetManifest,
  type RealColumns,
  type Tensor,
  type Weights,
  sizeOf,
} from '#libs/step';
import { refuse } from './errors.js';
import { takesOwnNumbers } from './interface.js';
import { mergeLora, type RealValues } from './ops/merge-lora.js';
import { writeSafetensors, type NamedTensor } from './safetensors.js';
import { realInputs, realOutputs, type OwnUnits } from './units.js';

interface ExportOptions {
  /** The model then takes a table's numbers as the user has them, and answers with numbers in the label's own unit. */
  readonly header?: DataHeader;
  /** The model takes the integers of the data set all the same. */
  readonly takesIntegers?: boolean;
  /** LoRA made part of the layers that it is on. */
  readonly mergesLora?: boolean;
}

/**
 * @param parameters all of them, frozen ones too
 * @returns bytes of an ONNX model of opset 17; its input and output are those of `netFloatOnnx`
 * @throws  Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE, EXPORT_HEADER
 */
export function exportOnnx(
  m: NetManifest,
  parameters: Weights,
  { header, takesIntegers = false, mergesLora = false }: ExportOptions = {},
): Uint8Array {
  checkParameters(m, parameters);
  const values = realValues(m, parameters);
  const net = mergesLora ? mergeLora(m, values) : { manifest: m, values };
  const label = header && realOutputs(header);
  return netFloatOnnx(net.manifest, (name) => Float32Array.from(net.values.get(name)!), {
    ...(header && takesOwnNumbers(header, takesIntegers) && { columns: columnsOf(m, header) }),
    ...(label && { label: labelOf(m, label) }),
  });
}

function realValues(m: NetManifest, parameters: Weights): RealValues {
  return new Map(
    parameterShapes(m).map(({ name, fraction }, i) => [
      name,
      Float64Array.from(parameters[i]!.values, (value) => Number(value) * 2 ** -fraction),
    ]),
  );
}

/** Center and scale by feature. */
function columnsOf({ input }: NetManifest, header: DataHeader): RealColumns {
  const size = sizeOf(input.shape);
  const found = realInputs(header);
  if (found?.scale.length !== size) {
    return refuse('EXPORT_HEADER', `columns of ${size} features`, `${header.columns.length} columns of others`);
  }
  return inFloat32(found);
}

/** Center and scale by answer. */
function labelOf(m: NetManifest, found: OwnUnits): RealColumns {
  const size = sizeOf(netOf(m).output.shape);
  if (found.scale.length === size) return inFloat32(found);
  return refuse('EXPORT_HEADER', `a label of ${size} numbers`, `${found.scale.length} numbers`);
}

function inFloat32({ center, scale }: OwnUnits): RealColumns {
  return { center: Float32Array.from(center), scale: Float32Array.from(scale) };
}

/** Of the tensor that other exporters do not write. */
export const exactName = 'veritrain.exact';

/** Real tensors by name as float32, and all masters in the order of the parameters as one of int64. */
export function exportSafetensors(m: NetManifest, parameters: Weights): Uint8Array {
  checkParameters(m, parameters);
  const values = realValues(m, parameters);
  const all = new BigInt64Array(parameters.reduce((sum, tensor) => sum + tensor.values.length, 0));
  let at = 0;
  for (const tensor of parameters) {
    all.set(tensor.values, at);
    at += tensor.values.length;
  }
  return writeSafetensors([
    ...parameters.map(({ name, dims }) => ({ name, dims, values: Float32Array.from(values.get(name)!) })),
    { name: exactName, dims: [all.length], values: all },
  ]);
}

/** The masters that `exportSafetensors` put beside the real tensors; undefined where there are none. @throws Rejection SAFETENSORS_SHAPE, WEIGHTS_RANGE */
export function exactParameters(m: NetManifest, tensors: readonly NamedTensor[]): Weights | undefined {
  const exact = tensors.find(({ name }) => name === exactName)?.values;
  if (!(exact instanceof BigInt64Array)) return undefined;
  let at = 0;
  const parameters = parameterShapes(m).map(({ name, dims }): Tensor => {
    const size = sizeOf(dims);
    at += size;
    return { name, dims, values: exact.slice(at - size, at) };
  });
  if (at !== exact.length) refuse('SAFETENSORS_SHAPE', `${at} integers in ${exactName}`, exact.length);
  checkParameters(m, parameters);
  return parameters;
}
