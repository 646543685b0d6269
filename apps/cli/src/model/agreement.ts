/** A model file on onnxruntime beside the net that is made of it, over a whole set of records. */
import { Rejection } from '#attestation/base';
import { exportOnnx, importCheck, type Agreement, type ImportedModel } from '#libs/models';
import { InferenceSession, NetForward, Tensor } from '#libs/onnx';
import { netRecordLayout, splitNetRecords, type DataHeader, type NetManifest, type Weights } from '#libs/step';
import {
  answerKinds,
  exactOutputs,
  ExportedRun,
  featureParts,
  rowsOf,
  session,
  type Compared,
  type Part,
} from './exported.js';

interface Records {
  readonly recordBytes: number;
  records(): AsyncIterable<{ readonly count: number; readonly bytes: Uint8Array }>;
}

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
  return compareOnnx(exportOnnx(m, parameters), { m, header, parameters }, parts(m, set), 'data');
}

/** @param onnx as `exportOnnx` writes it @param outputs as `ExportedRun.open` takes them */
export async function compareOnnx(
  onnx: Uint8Array,
  compared: Compared,
  from: AsyncIterable<Part>,
  outputs: 'own' | 'data',
): Promise<Agreement> {
  const { m, parameters } = compared;
  const forward = await NetForward.open(m);
  const run = await ExportedRun.open(onnx, compared, outputs);
  try {
    for await (const part of from) {
      for await (const { first, rows, output } of forward.outputs(parameters, part)) {
        await run.add(rowsOf(m, part, first, rows), output);
      }
    }
  } finally {
    await Promise.all([run.close(), forward.close()]);
  }
  return run.result();
}

async function* parts(m: NetManifest, set: Records): AsyncGenerator<Part> {
  for await (const { count, bytes } of set.records()) {
    const whole = bytes.subarray(0, count * netRecordLayout(m).recordBytes);
    yield* featureParts(m, { count, features: splitNetRecords(m, whole).features });
  }
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
