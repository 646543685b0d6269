/** `veritrain predict` and `veritrain evaluate`. */
import type { Command } from 'commander';
import { characterText } from '#libs/data';
import { baselineLines } from '../model/baseline.js';
import { differenceWords } from '../model/agreement-words.js';
import { usage } from '../model/data.js';
import type { InFloat32 } from '../model/exported.js';
import { metricLine } from '../model/metric-line.js';
import { evaluate, predict, type PredictOptions } from '../model/predict.js';
import type { Prediction } from '../model/predictions.js';
import { continueText, type PromptOptions } from '../model/prompt.js';
import { log, printResult, ownTable, type OutputOptions } from '../output.js';

type Asked = OutputOptions &
  Partial<PromptOptions> &
  Partial<PredictOptions> & { readonly model: string } & {
    readonly out?: string;
  };

export function addPredictCommand(command: Command): void {
  withModel(command)
    .option('--no-names', 'CSV: the first line is a row; columns are in the order of training, without the label')
    .option('--data <file>', 'data as the model was trained on, labels aside; of pictures a folder or a single file')
    .option('--out <file>', 'where predictions go: csv, or for .jsonl an object a line')
    .option('--prompt <text>', 'language models: text to go on from, in place of --data and --out')
    .option('--length <n>', 'with --prompt: tokens to add; 200 without it')
    .option('--temperature <t>', 'with --prompt: 0 takes the likeliest token, more is bolder; 0.8 without it')
    .option('--seed <text>', 'with --prompt: another one gives other text; 0 without it')
    .option('--json', 'print one JSON document')
    .action(async (options: Asked) => {
      const { model, data, out, prompt } = options;
      if (prompt !== undefined) return printText(options, await continueText({ ...options, model, prompt }));
      if (data === undefined || out === undefined) {
        throw usage('--data and --out, or --prompt', data === undefined ? 'no --data' : 'no --out');
      }
      return printPredicted(options, await predict({ ...options, model, data, out }));
    });
}

export function addEvaluateCommand(command: Command): void {
  withModel(command)
    .option('--no-names', 'CSV: the first line is a row, as in training')
    .requiredOption('--data <file>', 'a file as the model was trained on')
    .option('--json', 'print one JSON document')
    .action(async (options: PredictOptions & OutputOptions) => {
      const measures = await evaluate(options);
      printResult(options, measures, () =>
        ownTable([
          ['rows', String(measures.rows)],
          ...(measures.unlabelled === 0 ? [] : [['left out', `${measures.unlabelled} rows without a label`] as const]),
          ...measures.metrics.map(metricLine),
          ...baselineLines(measures.baseline),
          ...remarkLines(measures),
          ...floatLines(measures),
        ]),
      );
    });
}

/** The file that `model export` writes runs beside the exact net, on the same cells. */
function floatLines(made: Floating): (readonly [string, string])[] {
  const { floatDifference, floatOutput, floatSameAnswers, floatRows, warnings, rows } = made;
  const on = floatRows < rows ? `the first ${floatRows} of ${rows} rows` : `${rows} rows`;
  const agreement = { largestDifference: floatDifference, largestOutput: floatOutput, sameAnswers: floatSameAnswers };
  return [
    ['in float32', `an exported model.onnx differs by at most ${differenceWords(agreement, on)}`],
    ...warnings.map((warning) => ['warning', warning] as const),
  ];
}

type Floating = InFloat32 & { readonly rows: number };
type Remarks = Pick<
  Awaited<ReturnType<typeof predict>>,
  'rows' | 'unseen' | 'unseenValues' | 'missing' | 'clamped' | 'notes'
>;

function remarkLines({ rows, unseen, unseenValues, missing, clamped, notes }: Remarks): (readonly [string, string])[] {
  const lines = [
    ['never seen', unseen],
    ['missing', missing],
    ['out of range', clamped],
  ] as const;
  const noted = notes.map((note) => ['note', note] as const);
  const found = lines.flatMap(([what, columns]) => {
    const words = Object.entries(columns).map(([name, count]) => {
      const some = what === 'never seen' ? unseenValues[name]!.map((value) => JSON.stringify(value)) : [];
      return `${count} in column ${name}${some.length === 0 ? '' : ` (${some.join(', ')})`}`;
    });
    return words.length === 0 ? [] : [[what, words.join(', ')] as const];
  });
  const unknown = Object.keys(unseen).filter((name) => unseen[name]! + (missing[name] ?? 0) === rows);
  const spelt = `no cell of column ${unknown.join(', ')} is as in training: look at how its values are spelled`;
  return [...found, ...(unknown.length === 0 ? [] : [['warning', spelt] as const]), ...noted];
}

function printText(options: OutputOptions, made: Awaited<ReturnType<typeof continueText>>): void {
  if (made.unknown.length > 0)
    log(`note: the tokenizer does not know ${made.unknown.slice(0, 10).map(characterText).join(', ')} of the prompt`);
  printResult(options, made, () => `${made.prompt}${made.text}`);
}

function printPredicted(options: OutputOptions, made: Awaited<ReturnType<typeof predict>>): void {
  printResult(options, made, () =>
    ownTable([
      ['predictions', `${made.rows} rows in ${made.out}: ${made.columns.join(', ')}`],
      ['row', `counts the ${made.counted}`],
      ...made.first.map(predictionLine),
      ...(made.ignored.length > 0 ? [['not used', `columns ${made.ignored.join(', ')} of the data`] as const] : []),
      ...remarkLines(made),
      ...floatLines(made),
    ]),
  );
}

/** Names and values of a row, of the first columns where there are many. */
function predictionLine({ row, ...cells }: Prediction): readonly [string, string] {
  const words = Object.entries(cells).map(([name, value]) => `${name} ${quoted(value)}`);
  return [`row ${row}`, [...words.slice(0, 8), ...(words.length > 8 ? ['…'] : [])].join(', ')];
}

function quoted(value: string | number): string {
  return typeof value === 'string' && /^$|[\s",]/.test(value) ? JSON.stringify(value) : String(value);
}

function withModel(command: Command): Command {
  return command
    .requiredOption('--model <folder>', 'a trained model: manifest.json, header.json, weights.bin')
    .option(
      '--labels <file>',
      'pictures: a table that names them, for evaluate with labels; arrays: the file of labels',
    )
    .option('--arrays <array...>', 'npz: the arrays that are read, under names that the model knows: x=x_test')
    .option('--text-field <name>', 'JSON lines: the member that holds the text, where the model learned from another');
}
