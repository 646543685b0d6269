/** A model in float32 on onnxruntime beside the exact integers, over a whole set of records. */
import { Rejection } from '#attestation/base';
import { Comparison, exportOnnx, importCheck, realInputs, type Agreement, type AnswerKind } from '#libs/models';
import type { ImportedModel } from '#libs/models';
import { elementTypeOf, InferenceSession, NetForward, Tensor } from '#libs/onnx';
import { netOf, netRecordLayout, sizeOf, splitNetRecords } from '#libs/step';
import type { DataHeader, NetExamples, NetManifest, Weights } from '#libs/step';

interface Records {
  readonly recordBytes: number;
  records(): AsyncIterable<{ readonly count: number; readonly bytes: Uint8Array }>;
}

interface Part {
  readonly count: number;
  readonly features: NetExamples['features'];
}

/** Records compared in one go. */
const partRows = 256;
const session = { intraOpNumThreads: 1, logSeverityLevel: 3 } as const;

const answerKinds: Readonly<Record<DataHeader['label']['kind'], AnswerKind>> = {
  ...{ class: 'class', tokens: 'class', vector: 'flags', real: 'numbers' },
};

/** @throws Rejection ONNX_TYPE where onnxruntime's own types have no such input */
export async function compareFile(
  { bytes, model }: { readonly bytes: Uint8Array; readonly model: ImportedModel },
  m: NetManifest,
  header: DataHeader,
  parameters: Weights,
  set: Records,
): Promise<Agreement> {
  const made = tensorOf[model.input.type] ?? unfed(model);
  const [file, forward] = await Promise.all([InferenceSession.create(bytes, session), NetForward.open(m)]);
  try {
    return await importCheck(model, {
      batches: parts(m, set),
      fraction: 'tokens' in m.input ? 0 : m.input.frac,
      answer: answerKinds[header.label.kind],
      file: async (input, dims) => {
        const outputs = await file.run({ [model.input.name]: made(input, dims) });
        return outputs[model.output.name]!.data as Float32Array;
      },
      net: (part) => exactOutputs(forward, parameters, part as Part),
    });
  } finally {
    await Promise.all([file.release(), forward.close()]);
  }
}

/** The net's own export, which takes what the net takes. */
export function compareExported(
  m: NetManifest,
  header: DataHeader,
  parameters: Weights,
  set: Records,
): Promise<Agreement> {
  return compareOnnx(exportOnnx(m, parameters), { m, header, parameters }, parts(m, set));
}

interface Compared {
  readonly m: NetManifest;
  readonly header: DataHeader;
  readonly parameters: Weights;
}

/** @param onnx as `exportOnnx` writes it @param takesReal whether it takes the user's numbers in place of integers */
export async function compareOnnx(
  onnx: Uint8Array,
  { m, header, parameters }: Compared,
  from: AsyncIterable<Part>,
  takesReal = false,
): Promise<Agreement> {
  const [file, forward] = await Promise.all([InferenceSession.create(onnx, session), NetForward.open(m)]);
  const comparison = new Comparison(netOf(m).output.shape.at(-1) ?? 1, answerKinds[header.label.kind]);
  try {
    for await (const part of from) {
      const dims = [part.count, ...m.input.shape];
      const fed = takesReal
        ? new Tensor('float32', realNumbers(m, header, part), dims)
        : new Tensor(elementTypeOf(m), part.features, dims);
      const { output } = await file.run({ features: fed });
      comparison.add(part.count, output!.data as Float32Array, await exactOutputs(forward, parameters, part));
    }
  } finally {
    await Promise.all([file.release(), forward.close()]);
  }
  return comparison.result();
}

/** Features of at most `partRows` records at a time. */
export async function* featureParts(
  m: NetManifest,
  features: NetExamples['features'],
  count: number,
): AsyncGenerator<Part> {
  const width = sizeOf(m.input.shape);
  for (let first = 0; first < count; first += partRows) {
    const rows = Math.min(partRows, count - first);
    yield { count: rows, features: features.subarray(first * width, (first + rows) * width) };
  }
}

async function* parts(m: NetManifest, set: Records): AsyncGenerator<Part> {
  for await (const { count, bytes } of set.records()) {
    const whole = bytes.subarray(0, count * netRecordLayout(m).recordBytes);
    yield* featureParts(m, splitNetRecords(m, whole).features, count);
  }
}

async function exactOutputs(forward: NetForward, parameters: Weights, part: Part): Promise<Float64Array> {
  const { a, shape } = netOf(forward.manifest).output;
  const width = sizeOf(shape);
  const real = new Float64Array(part.count * width);
  for await (const { first, output } of forward.outputs(parameters, part)) {
    output.forEach((value, i) => (real[first * width + i] = value * 2 ** -a));
  }
  return real;
}

function realNumbers({ input }: NetManifest, header: DataHeader, { features }: Part): Float32Array {
  const { center, scale } = realInputs(header)!;
  const unit = 'frac' in input ? 2 ** -input.frac : 1;
  return Float32Array.from(features, (value, i) => {
    const place = i % scale.length;
    return value * unit * scale[place]! + center[place]!;
  });
}

/** By TensorProto.DataType. */
const tensorOf: Readonly<Record<number, ((input: Float64Array, dims: readonly number[]) => Tensor) | undefined>> = {
  1: (input, dims) => new Tensor('float32', Float32Array.from(input), dims),
  2: (input, dims) => new Tensor('uint8', Uint8Array.from(input), dims),
  3: (input, dims) => new Tensor('int8', Int8Array.from(input), dims),
  5: (input, dims) => new Tensor('int16', Int16Array.from(input), dims),
  6: (input, dims) => new Tensor('int32', Int32Array.from(input), dims),
  7: (input, dims) => new Tensor('int64', BigInt64Array.from(input, BigInt), dims),
  11: (input, dims) => new Tensor('float64', input, dims),
};

function unfed({ input }: ImportedModel): never {
  throw new Rejection('ONNX_TYPE', {
    expected: 'an input of float32, double or integers, so that the import can be compared with the file',
    got: `TensorProto.DataType ${input.type}`,
    rule: 'libs/models/README.md',
    action: 'export the model in float32',
  });
}
