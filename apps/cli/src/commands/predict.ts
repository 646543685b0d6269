/** `veritrain predict` and `veritrain evaluate`. */
import type { Command } from 'commander';
import { evaluate, predict, type PredictOptions } from '../model/predict.js';
import { printResult, table, type OutputOptions } from '../output.js';

export function addPredictCommands(program: Command): void {
  modelCommand(program, 'predict', 'run a trained model on new data, exactly as it was trained; writes a table')
    .requiredOption('--out <file>', 'where predictions go, csv')
    .option('--json', 'print one JSON document')
    .action(async (options: PredictOptions & OutputOptions & { readonly out: string }) => {
      const made = await predict(options);
      const more = Object.entries(made.unseen).map(([name, count]) => `${count} in column ${name}`);
      printResult(options, made, () =>
        table([
          ['predictions', `${made.rows} rows in ${made.out}: ${made.columns.join(', ')}`],
          ...(made.ignored.length > 0 ? [['not read', made.ignored.join(', ')] as const] : []),
          ...(more.length > 0 ? [['never seen', more.join(', ')] as const] : []),
          ['float model', `differs by at most ${made.floatDifference.toPrecision(3)}`],
        ]),
      );
    });
  modelCommand(program, 'evaluate', 'measure a trained model on data with labels; exact counts')
    .option('--json', 'print one JSON document')
    .action(async (options: PredictOptions & OutputOptions) => {
      const measures = await evaluate(options);
      printResult(options, measures, () =>
        table([
          ['rows', String(measures.rows)],
          ...measures.metrics.map(
            ({ name, value, numerator, denominator }) =>
              [name, `${value.toPrecision(5)}  (${numerator}/${denominator})`] as const,
          ),
          ['float model', `differs by at most ${measures.floatDifference.toPrecision(3)}`],
        ]),
      );
    });
}

function modelCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .requiredOption('--model <folder>', 'a trained model: manifest.json, header.json, weights.bin')
    .requiredOption('--data <file>', 'a file as the model was trained on')
    .option('--labels <file>', 'pictures and arrays: the file of their labels');
}
