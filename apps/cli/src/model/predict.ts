/** `veritrain predict` and `evaluate`: exact outputs of a model on a user's file, in the user's own words. */
import { NetForward } from '#libs/onnx';
import { encodeWith, type Encoding } from '#libs/data';
import { splitNetRecords } from '#libs/step';
import { ConstantAnswer, type Baseline } from './baseline.js';
import type { DataOptions, Source } from './data.js';
import { Meter, type Measures } from './exact.js';
import { FirstRows, type InFloat32 } from './exported.js';
import { readModel } from './folder.js';
import { featuresFrom, openedFor } from './new-data.js';
import { checkFormat, openOutput } from './output-file.js';
import { predictionTable, type Prediction } from './predictions.js';

export interface PredictOptions extends DataOptions {
  readonly model: string;
  readonly data: string;
}

interface Predicted extends Remarks, InFloat32 {
  readonly rows: number;
  readonly out: string;
  /** Columns of the table that was written, behind `row`. */
  readonly columns: readonly string[];
  /** What `row` counts. */
  readonly counted: string;
  /** The first rows of the table. */
  readonly first: readonly Prediction[];
  /** Columns of the data that the model does not know. */
  readonly ignored: readonly string[];
}

/** Cells that the model was not trained on, by column. */
interface Remarks {
  /** Values that no training row had: all zeros. */
  readonly unseen: Readonly<Record<string, number>>;
  /** Up to three of these. */
  readonly unseenValues: Readonly<Record<string, readonly string[]>>;
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
  const unseenValues = Object.fromEntries(
    report.flatMap(({ name, unseenValues: some }) => (some.length > 0 ? [[name, some.slice(0, 3)]] : [])),
  );
  return { unseen: of('unseen'), unseenValues, missing: of('missing'), clamped: of('clamped'), notes: source.notes() };
}

const shownRows = 5;

export async function predict(options: PredictOptions & { readonly out: string }): Promise<Predicted> {
  const { data, labels } = options;
  checkFormat(options.out);
  const model = readModel(options.model);
  const { manifest, header, parameters } = model;
  const source = await openedFor(model, options, 'features');
  const encoding = encodeWith(header, source, 'features');
  const forward = await NetForward.open(manifest);
  const answering = await FirstRows.open({ m: manifest, header, parameters }, forward);
  const table = predictionTable(model, source, options.out);
  const shown: Prediction[] = [];
  let count = 0;
  let file: Awaited<ReturnType<typeof openOutput>> | undefined;
  try {
    file = await openOutput(options.out, [data, options.model, ...(labels === undefined ? [] : [labels])]);
    await file.write(table.head);
    for await (const batch of encoding.batches()) {
      const { first, files } = batch;
      for await (const part of answering.outputs(batch, featuresFrom(manifest, batch.bytes, batch.count))) {
        const width = part.output.length / part.rows;
        const lines = Array.from({ length: part.rows }, (_, i) => {
          const [own, place] = [part.output.subarray(i * width, (i + 1) * width), part.first + i];
          const cells = table.cells(first + place, files?.[place], own);
          if (shown.length < shownRows) shown.push(table.prediction(cells));
          return table.line(cells);
        });
        await file.write(lines.join(''));
        count += part.rows;
      }
    }
    await file.keep();
  } finally {
    await Promise.all([forward.close(), answering.close(), file?.drop()]);
  }
  return {
    rows: count,
    out: options.out,
    columns: table.columns.slice(1),
    counted: table.counted,
    first: shown,
    ignored: encoding.ignored,
    ...answering.result(),
    ...remarksOf(encoding.report(), source),
  };
}

interface Evaluated extends Measures, Remarks, InFloat32 {
  /** Of the same rows. */
  readonly baseline: Baseline;
  readonly unlabelled: number;
}

export async function evaluate(options: PredictOptions): Promise<Evaluated> {
  const model = readModel(options.model);
  const { manifest, header, parameters } = model;
  const source = await openedFor(model, options, 'records');
  const encoding = encodeWith(header, source, 'records');
  const forward = await NetForward.open(manifest);
  const answering = await FirstRows.open({ m: manifest, header, parameters }, forward);
  const meter = new Meter(manifest, header);
  const constant = new ConstantAnswer(header);
  let count = 0;
  try {
    for await (const batch of encoding.batches()) {
      const examples = splitNetRecords(manifest, batch.bytes);
      await meter.add(answering.outputs(batch, examples.features), examples);
      constant.add(examples.labels);
      count += batch.count;
    }
  } finally {
    await Promise.all([forward.close(), answering.close()]);
  }
  const [metrics, unlabelled] = [meter.results(), encoding.unlabelled()];
  const baseline = constant.result();
  return { rows: count, unlabelled, metrics, baseline, ...answering.result(), ...remarksOf(encoding.report(), source) };
}
