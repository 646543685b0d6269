/** A model file on onnxruntime beside the net that is made of it, over a whole set of records. */
import { Rejection } from '#attestation/base';
import { encodeWith, keptApart, type ImportedData } from '#libs/data';
import { exportOnnx, importCheck, takesOwnNumbers, type Agreement, type ImportedModel } from '#libs/models';
import { InferenceSession, NetForward, Tensor } from '#libs/onnx';
import { netRecordLayout, sizeOf, splitNetRecords, type DataHeader, type NetManifest } from '#libs/step';
import type { readBrought } from './brought.js';
import type { Source } from './data.js';
import {
  answerKinds,
  exactOutputs,
  ExportedRun,
  featureParts,
  ownOf,
  rowsOf,
  session,
  type Compared,
  type Part,
} from './exported.js';

/** What an import made of a file: the rows kept apart are compared, or all where there are none. */
interface Brought extends Pick<ImportedData, 'train' | 'validation'> {
  readonly source: Source;
  readonly seed: string;
}

/** @throws Rejection ONNX_TYPE where onnxruntime's own types have no such input */
export async function compareFile(
  { bytes, model, takesIntegers }: NonNullable<ReturnType<typeof readBrought>['onnx']>,
  { m, header, parameters }: Compared,
  data: Brought,
): Promise<Agreement> {
  const takesOwn = model.input.real !== undefined && takesOwnNumbers(header, takesIntegers);
  const made = tensorOf[model.input.type] ?? unfed(model);
  const [file, forward] = await Promise.all([InferenceSession.create(bytes, session), NetForward.open(m)]);
  try {
    return await importCheck(model, {
      batches: takesOwn ? ownParts(m, header, data) : parts(m, data),
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

/** The file that `model export` would write. */
export function compareExported(compared: Compared, data: Brought): Promise<Agreement> {
  const { m, header, parameters } = compared;
  const from = takesOwnNumbers(header, false) ? ownParts(m, header, data) : parts(m, data);
  return compareOnnx(exportOnnx(m, parameters, { header }), compared, from);
}

/** @param onnx as `exportOnnx` writes it with the header */
export async function compareOnnx(onnx: Uint8Array, compared: Compared, from: AsyncIterable<Part>): Promise<Agreement> {
  const { m, parameters } = compared;
  const forward = await NetForward.open(m);
  const run = await ExportedRun.open(onnx, compared);
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

/** As the data set has them. */
async function* parts(m: NetManifest, { train, validation }: Brought): AsyncGenerator<Part> {
  for await (const { count, bytes } of (validation ?? train).records()) {
    const whole = bytes.subarray(0, count * netRecordLayout(m).recordBytes);
    yield* featureParts(m, { count, features: splitNetRecords(m, whole).features });
  }
}

/** The same rows with the numbers of their cells, which records center, scale and end: read from the file once more. */
async function* ownParts(m: NetManifest, header: DataHeader, data: Brought): AsyncGenerator<Part> {
  const { source, seed, train, validation } = data;
  const isIn = validation && keptApart(seed, { train: train.count, validation: validation.count });
  const width = sizeOf(m.input.shape);
  let before = 0;
  for await (const batch of encodeWith(header, source, 'records').batches()) {
    const { features } = splitNetRecords(m, batch.bytes);
    const own = ownOf(m, header, batch, features);
    let count = 0;
    for (let row = 0; row < batch.count; row++) {
      if (isIn?.[before + row] === 0) continue;
      for (const values of [features, own]) values.copyWithin(count * width, row * width, (row + 1) * width);
      count += 1;
    }
    before += batch.count;
    yield* featureParts(m, rowsOf(m, { count, features, own }, 0, count));
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
