/** `veritrain predict` and `veritrain evaluate`. */
import type { Command } from 'commander';
import { usage } from '../model/data.js';
import { metricLine } from '../model/metric-line.js';
import { evaluate, predict, type PredictOptions } from '../model/predict.js';
import { continueText, type PromptOptions } from '../model/prompt.js';
import { printResult, table, type OutputOptions } from '../output.js';

type Asked = OutputOptions &
  Partial<PromptOptions> &
  Partial<PredictOptions> & { readonly model: string } & {
    readonly out?: string;
  };

export function addPredictCommands(program: Command): void {
  modelCommand(program, 'predict', 'run a trained model, exactly as it was trained: on new data, or on from a text')
    .option('--data <file>', 'a file as the model was trained on')
    .option('--out <file>', 'where predictions go, csv')
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
  modelCommand(program, 'evaluate', 'measure a trained model on data with labels; exact counts')
    .requiredOption('--data <file>', 'a file as the model was trained on')
    .option('--json', 'print one JSON document')
    .action(async (options: PredictOptions & OutputOptions) => {
      const measures = await evaluate(options);
      printResult(options, measures, () =>
        table([
          ['rows', String(measures.rows)],
          ...measures.metrics.map(metricLine),
          ...remarkLines(measures),
          floatLine(measures),
        ]),
      );
    });
}

/** The float32 form of the model runs beside the exact one, as other programs would run it. */
function floatLine({ floatDifference }: { readonly floatDifference: number }): readonly [string, string] {
  return ['in float32', `answers differ by at most ${floatDifference.toPrecision(3)}`];
}

type Remarks = Pick<Awaited<ReturnType<typeof predict>>, 'unseen' | 'missing' | 'clamped' | 'notes'>;

function remarkLines({ unseen, missing, clamped, notes }: Remarks): (readonly [string, string])[] {
  const lines = [
    ['never seen', unseen],
    ['missing', missing],
    ['out of range', clamped],
  ] as const;
  const noted = notes.map((note) => ['note', note] as const);
  const found = lines.flatMap(([what, columns]) => {
    const words = Object.entries(columns).map(([name, count]) => `${count} in column ${name}`);
    return words.length === 0 ? [] : [[what, words.join(', ')] as const];
  });
  return [...found, ...noted];
}

function printText(options: OutputOptions, made: Awaited<ReturnType<typeof continueText>>): void {
  printResult(options, made, () => `${made.prompt}${made.text}`);
}

function printPredicted(options: OutputOptions, made: Awaited<ReturnType<typeof predict>>): void {
  printResult(options, made, () =>
    table([
      ['predictions', `${made.rows} rows in ${made.out}: ${made.columns.join(', ')}`],
      ...(made.ignored.length > 0 ? [['not used', `columns ${made.ignored.join(', ')} of the data`] as const] : []),
      ...remarkLines(made),
      floatLine(made),
    ]),
  );
}

function modelCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .requiredOption('--model <folder>', 'a trained model: manifest.json, header.json, weights.bin')
    .option('--labels <file>', 'pictures and arrays: the file of their labels')
    .option('--arrays <array...>', 'npz: the arrays that are read, under names that the model knows: x=x_test')
    .option('--no-names', 'CSV: the first line is a row; columns are in the order of training');
}
