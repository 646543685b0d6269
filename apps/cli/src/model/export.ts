/** `veritrain model export`: a trained model as files of other runtimes, compared with the exact one. */
import { join } from 'node:path';
import { encodeWith } from '#libs/data';
import type { DataHeader } from '#libs/step';
import { makeFolder, writeWhole } from '#libs/client/files';
import {
  exportOnnx,
  exportSafetensors,
  interfaceName,
  interfaceOf,
  interfaceText,
  lostInFloat32,
  realOutputs,
  takesOwnNumbers,
  withOrigin,
  type Agreement,
  type ModelInterface,
  type Origin,
} from '#libs/models';
import { compareOnnx } from './agreement.js';
import type { DataOptions } from './data.js';
import { farWords, featureParts, ownOf } from './exported.js';
import { originBeside, readModel, tokenizerName, writeHeader, type ModelFolder } from './folder.js';
import { featuresFrom, openedFor } from './new-data.js';

export interface ExportOptions extends DataOptions {
  readonly model: string;
  readonly out: string;
  readonly data?: string;
  readonly mergeLora?: boolean;
  readonly integers?: boolean;
}

interface ExportedReport {
  readonly onnx: string;
  readonly safetensors: string;
  /** What a runtime gives the ONNX model. */
  readonly input: string;
  /** What it answers with. */
  readonly output: string;
  /** What the weights of the other file alone take and answer with. */
  readonly tensors: string;
  /** JSON of both ends of the ONNX model, column by column. */
  readonly interface: string;
  /** Where the evidence of the training is; null: this folder is no job's result. */
  readonly origin: Origin | null;
  /** Columns whose own numbers float32, which the ONNX model takes, does not hold; and answers that are far apart. */
  readonly warnings: readonly string[];
  /** The file in float32 on every row as it stands in the data, beside the integers; null without data. */
  readonly check: Agreement | null;
}

export async function exportModel(options: ExportOptions): Promise<ExportedReport> {
  const model = readModel(options.model);
  makeFolder(options.out);
  const { manifest, header, parameters, tokenizer } = model;
  const takesIntegers = options.integers === true;
  const bytes = exportOnnx(manifest, parameters, { header, takesIntegers, mergesLora: options.mergeLora === true });
  const onnx = join(options.out, 'model.onnx');
  const safetensors = join(options.out, 'model.safetensors');
  const takesOwn = takesOwnNumbers(header, takesIntegers);
  const { data } = options;
  const compared = { m: manifest, header, parameters };
  const records = data === undefined ? null : newRecords(model, { ...options, data }, takesOwn);
  const check = records && (await compareOnnx(bytes, compared, records));
  const lost = takesOwn ? lostInFloat32(header).map(lostWords) : [];
  const warnings = [...lost, ...(check === null ? [] : farWords(check, header, takesOwn))];
  const origin = originBeside(options.model, '--model');
  writeWhole(onnx, origin === null ? bytes : withOrigin(bytes, origin));
  writeWhole(safetensors, exportSafetensors(manifest, parameters));
  const ends = interfaceOf(manifest, header, takesIntegers);
  const described = join(options.out, interfaceName);
  writeWhole(described, interfaceText(ends));
  writeHeader(options.out, header);
  if (tokenizer !== undefined) writeWhole(join(options.out, tokenizerName), tokenizer);
  return {
    onnx,
    safetensors,
    interface: described,
    ...wordsOf(ends),
    tensors: tensorWords(header),
    origin,
    warnings,
    check,
  };
}

function lostWords({ name, error, scale }: ReturnType<typeof lostInFloat32>[number]): string {
  const [off, spread] = [error, scale].map((value) => value.toPrecision(2));
  const why = `numbers of column "${name}" reach the ONNX model in float32, which may be off by ${off} where they spread by ${spread}`;
  return `${why}: export with --integers, or train on the column less a constant`;
}

/** @param takesOwn the file takes numbers as the user's file has them */
async function* newRecords(model: ModelFolder, options: ExportOptions & { readonly data: string }, takesOwn: boolean) {
  const { manifest, header } = model;
  const encoding = encodeWith(header, await openedFor(model, options, 'features'), 'features');
  for await (const batch of encoding.batches()) {
    const { count, bytes } = batch;
    const features = featuresFrom(manifest, bytes, count);
    const own = takesOwn && { own: ownOf(manifest, header, batch, features) };
    yield* featureParts(manifest, { count, features, ...own });
  }
}

function wordsOf({ input, output }: ModelInterface): { readonly input: string; readonly output: string } {
  const words = ({ name, shape, type }: ModelInterface['input' | 'output'], what: string) =>
    `${name} [${shape.join(', ')}]: ${type}, ${what}`;
  return { input: words(input, input.give), output: words(output, output.read) };
}

/** Weights alone know nothing of the data's units. */
function tensorWords(header: DataHeader): string {
  const label = realOutputs(header);
  const ends =
    'numbers and answers are within 16 bits, which weights do not hold: set them to the range in interface.json';
  const takes = 'weights alone: they take features as the data set scales them (header.json)';
  if (label === undefined) return `${takes}; ${ends}`;
  const [center, scale] = [label.center, label.scale].map((values) => values.join(', '));
  return `${takes} and answer with (label - center)/scale; center ${center}, scale ${scale}; ${ends}`;
}
