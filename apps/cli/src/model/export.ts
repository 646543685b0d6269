/** `veritrain model export`: a trained model as files of other runtimes, compared with the exact one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { encodeWith } from '#libs/data';
import { makeFolder, readBytes, writeWhole } from '#libs/client';
import {
  exportOnnx,
  exportSafetensors,
  onnxBytesMax,
  originOf,
  withOrigin,
  type Agreement,
  type Origin,
} from '#libs/models';
import { compareOnnx, featureParts } from './agreement.js';
import type { DataOptions } from './data.js';
import { readModel, type ModelFolder } from './folder.js';
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
  /** Where the evidence of the training is; null: this folder is no job's result. */
  readonly origin: Origin | null;
  /** onnxruntime in float32 beside the integers, on every record of the data; null without data. */
  readonly check: Agreement | null;
}

export async function exportModel(options: ExportOptions): Promise<ExportedReport> {
  const model = readModel(options.model);
  makeFolder(options.out);
  const { manifest, header, parameters } = model;
  const takesReal = options.integers !== true && header.columns.some(({ kind }) => kind === 'number');
  const bytes = exportOnnx(manifest, parameters, {
    ...{ mergesLora: options.mergeLora === true },
    ...(takesReal && { header }),
  });
  const onnx = join(options.out, 'model.onnx');
  const safetensors = join(options.out, 'model.safetensors');
  const { data } = options;
  const check =
    data === undefined
      ? null
      : await compareOnnx(
          bytes,
          { m: manifest, header, parameters },
          newRecords(model, { ...options, data }),
          takesReal,
        );
  const origin = originBeside(options.model);
  writeWhole(onnx, origin === null ? bytes : withOrigin(bytes, origin));
  writeWhole(safetensors, exportSafetensors(manifest, parameters));
  return { onnx, safetensors, input: inputWords(model, takesReal), origin, check };
}

/** What the delivered file beside the weights says. */
function originBeside(folder: string): Origin | null {
  const delivered = join(folder, 'model.onnx');
  return existsSync(delivered) ? originOf(readBytes(delivered, onnxBytesMax)) : null;
}

async function* newRecords(model: ModelFolder, options: ExportOptions & { readonly data: string }) {
  const encoding = encodeWith(model.header, await openedFor(model, options), 'features');
  for await (const { count, bytes } of encoding.batches()) {
    yield* featureParts(model.manifest, featuresFrom(model.manifest, bytes, count), count);
  }
}

function inputWords({ manifest, header: { features } }: ModelFolder, takesReal: boolean): string {
  const shape = `features [rows, ${manifest.input.shape.join(', ')}]`;
  if (features.dtype === 'tokens') return `${shape}: int32 tokens`;
  if (takesReal) return `${shape}: float32, columns of header.json as the user's own numbers, categories as 0 and 1`;
  return `${shape}: ${features.dtype}, as the data set has them`;
}
