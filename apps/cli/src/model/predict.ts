/** `veritrain predict` and `evaluate`: exact outputs of a model on a user's file, in the user's own words. */
import { NetForward } from '#libs/onnx';
import { encodeWith, type Encoding } from '#libs/data';
import { answers } from '#libs/models';
import { netOf, splitNetRecords } from '#libs/step';
import type { DataOptions, Source } from './data.js';
import { FloatModel, Meter, type Measures } from './exact.js';
import { readModel } from './folder.js';
import { featuresFrom, openedFor } from './new-data.js';
import { openOutput } from './output-file.js';

export interface PredictOptions extends DataOptions {
  readonly model: string;
  readonly data: string;
}

interface Predicted extends Remarks {
  readonly rows: number;
  readonly out: string;
  /** Columns of the table that was written. */
  readonly columns: readonly string[];
  /** Columns of the data that the model does not know. */
  readonly ignored: readonly string[];
  /** Between the exact outputs and the float model that any runtime can run. */
  readonly floatDifference: number;
}

/** Cells that the model was not trained on, by column. */
interface Remarks {
  /** Values that no training row had: all zeros. */
  readonly unseen: Readonly<Record<string, number>>;
  /** Cells without a value: the center of the training rows. */
  readonly missing: Readonly<Record<string, number>>;
  /** Numbers so far out that the nearest of 16 bits stands for them. */
  readonly clamped: Readonly<Record<string, number>>;
  /** What was left out or changed while the data was read. */
  readonly notes: readonly string[];
}

function remarksOf(report: ReturnType<Encoding['report']>, source: Source): Remarks {
  const of = (what: 'unseen' | 'missing' | 'clamped') =>
    Object.fromEntries(report.flatMap((column) => (column[what] > 0 ? [[column.name, column[what]]] : [])));
  return { unseen: of('unseen'), missing: of('missing'), clamped: of('clamped'), notes: source.notes() };
}

/** Rows whose outputs the float model is compared on. */
const comparedRows = 256;

export async function predict(options: PredictOptions & { readonly out: string }): Promise<Predicted> {
  const model = readModel(options.model);
  const { manifest, header, parameters } = model;
  const source = await openedFor(model, options);
  const encoding = encodeWith(header, source, 'features');
  const forward = await NetForward.open(manifest);
  const float = await FloatModel.open(manifest, parameters);
  const wording = answers(header, netOf(manifest).output);
  let [count, floatDifference] = [0, 0];
  let file: Awaited<ReturnType<typeof openOutput>> | undefined;
  try {
    file = await openOutput(options.out, [options.data, options.model]);
    await file.write(`${csvLine(['row', ...wording.columns])}\n`);
    for await (const { count: rows, first, bytes } of encoding.batches()) {
      const features = featuresFrom(manifest, bytes, rows);
      for await (const part of forward.outputs(parameters, { count: rows, features })) {
        const width = part.output.length / part.rows;
        const lines = Array.from({ length: part.rows }, (_, i) => {
          const own = part.output.subarray(i * width, (i + 1) * width);
          return csvLine([String(first + part.first + i), ...wording.of(own)]);
        });
        await file.write(`${lines.join('\n')}\n`);
        const compared = Math.min(part.rows, comparedRows - count);
        if (compared > 0) {
          const from = (part.first * features.length) / rows;
          const some = features.subarray(from, from + (compared * features.length) / rows);
          const exact = part.output.subarray(0, compared * width);
          floatDifference = Math.max(floatDifference, await float.difference(some, compared, exact));
        }
        count += part.rows;
      }
    }
    await file.keep();
  } finally {
    await Promise.all([forward.close(), float.close(), file?.drop()]);
  }
  return {
    rows: count,
    out: options.out,
    columns: wording.columns,
    ignored: encoding.ignored,
    floatDifference,
    ...remarksOf(encoding.report(), source),
  };
}

export async function evaluate(
  options: PredictOptions,
): Promise<Measures & Remarks & { readonly floatDifference: number }> {
  const model = readModel(options.model);
  const { manifest, header, parameters } = model;
  const source = await openedFor(model, options);
  const encoding = encodeWith(header, source, 'records');
  const forward = await NetForward.open(manifest);
  const float = await FloatModel.open(manifest, parameters);
  const meter = new Meter(manifest, header);
  let [count, floatDifference] = [0, 0];
  try {
    for await (const { count: rows, bytes } of encoding.batches()) {
      const examples = splitNetRecords(manifest, bytes);
      await meter.add(forward, parameters, examples);
      if (count < comparedRows) {
        const compared = Math.min(rows, comparedRows);
        const features = examples.features.subarray(0, (compared * examples.features.length) / rows);
        for await (const { output, first, rows: own } of forward.outputs(parameters, { count: compared, features })) {
          const width = features.length / compared;
          const some = features.subarray(first * width, (first + own) * width);
          floatDifference = Math.max(floatDifference, await float.difference(some, own, output));
        }
      }
      count += rows;
    }
  } finally {
    await Promise.all([forward.close(), float.close()]);
  }
  return { rows: count, metrics: meter.results(), floatDifference, ...remarksOf(encoding.report(), source) };
}

/** RFC 4180; a cell that a spreadsheet would run gets a quote mark before it. */
function csvLine(cells: readonly string[]): string {
  return cells
    .map((cell) => {
      const safe = /^[=+@\t\r]|^-(?![\d.])/.test(cell) ? `'${cell}` : cell;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    })
    .join(',');
}
