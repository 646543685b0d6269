/**
 * Mutates files that PyTorch and Keras exported: an import ends with an error that has a code, or with layers that give what
 * onnxruntime gives on the same bytes.
 */
import { importCheck, importOnnx, quantise, type ImportedModel } from '#libs/models';
import { InferenceSession, Tensor } from '#libs/onnx';
import { toHex } from '#attestation/base';
import { floatNet } from '#test/float-net';
import { exportedFile, exportedFiles } from '#test/onnx-files';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import { protobufMutant, type Nested } from './protobuf-mutants.js';

/** ModelProto down to dims, attributes and types. */
const type: Nested = { 1: { 2: { 1: {} } } };
const info: Nested = { 2: type };
const nested: Nested = { 7: { 1: { 5: { 5: {} } }, 5: {}, 11: info, 12: info }, 8: {} };

type Import = (bytes: Uint8Array) => ImportedModel;

/** Of the processor, whatever else the machine does. */
const millisecondsMax = 20_000;

/** @param imported what imports a file */
export async function fuzzOnnx(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  imported: Import = (bytes) => importOnnx(bytes),
): Promise<FuzzReport> {
  const files = exportedFiles.map((name) => ({ name, bytes: exportedFile(name) }));
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const { name, bytes } = files[draw(files.length)]!;
    const other = files[draw(files.length)]!.bytes;
    const mutant = k % 3 === 0 ? mutantOf(bytes, draw, other) : protobufMutant(bytes, nested, draw);
    return { target: name, input: () => toHex(mutant), run: () => verdictOn(mutant, imported) };
  };
  return fuzz(count, seed, trialOf, onProgress);
}

async function verdictOn(bytes: Uint8Array, imported: Import): Promise<Verdict> {
  const began = process.cpuUsage();
  let model: ImportedModel | undefined;
  const verdict = await judged(() => {
    model = imported(bytes);
    quantise(model.parameters, { fractionOf: () => 28, wint: 3 });
  });
  const { user, system } = process.cpuUsage(began);
  if (user + system > 1_000 * millisecondsMax) return `took ${(user + system) / 1_000} ms`;
  return verdict === 'accepted' ? agreed(bytes, model!) : verdict;
}

/** Whether another runtime makes the same of the file, where it takes it at all. */
async function agreed(bytes: Uint8Array, model: ImportedModel): Promise<Verdict> {
  const size = model.input.shape.reduce((product, side) => product * side, 1);
  if (size > 4_096 || model.parameters.some(({ values }) => values.length > 1 << 16)) return 'taken';
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
  } catch {
    return 'taken';
  }
  const vocabulary = model.parameters[0]?.dims[0] ?? 1;
  const fraction = model.isTokens ? 0 : 8;
  let isRefused = false;
  const result = await importCheck(model, {
    fraction,
    answer: 'numbers',
    batches: Array.from({ length: 16 }, (_, k) => ({
      count: 1,
      features: Int32Array.from({ length: size }, (__, i) =>
        model.isTokens ? (i * 5 + k) % vocabulary : ((i * 37 + k * 11) % 200) - 100,
      ),
    })),
    async file(input, dims) {
      try {
        return await outputOf(session, model, input, dims);
      } catch {
        isRefused = true;
        return [];
      }
    },
    net: async ({ features }) =>
      floatNet(
        model,
        Float64Array.from(features, (value) => value * 2 ** -fraction),
      ),
  });
  await session.release();
  if (isRefused || !Number.isFinite(result.largestOutput)) return 'taken';
  const tolerance = 2e-3 * (1 + result.largestOutput);
  return result.largestDifference <= tolerance
    ? 'taken'
    : `differs by ${result.largestDifference} of ${result.largestOutput}`;
}

async function outputOf(
  session: InferenceSession,
  model: ImportedModel,
  input: Float64Array,
  dims: readonly number[],
): Promise<Float32Array> {
  const integers = (isInt32: boolean): Tensor =>
    isInt32
      ? new Tensor('int32', Int32Array.from(input), dims)
      : new Tensor('int64', BigInt64Array.from(input, BigInt), dims);
  const [about] = session.inputMetadata;
  const isInt32 = about?.isTensor === true && about.type === 'int32';
  const fed = model.isTokens ? integers(isInt32) : new Tensor('float32', Float32Array.from(input), dims);
  return (await session.run({ [model.input.name]: fed }))[model.output.name]!.data as Float32Array;
}
