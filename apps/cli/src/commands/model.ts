/** `veritrain model init|check`. */
import { Option, type Command } from 'commander';
import { checkModel, type CheckedModel, type CheckOptions } from '../model/check.js';
import { addDataOptions, taskKinds } from '../model/data.js';
import { initModel, type InitOptions } from '../model/init.js';
import { printResult, table, type OutputOptions } from '../output.js';

export function addModelCommands(program: Command): void {
  const model = program.command('model').description('make a manifest from data, and look at one');
  const init = model
    .command('init')
    .description('look at data, choose a model with all its settings, and say why; writes manifest.json and plan.json')
    .requiredOption('--from <file>', 'csv, tsv, parquet, npy, npz, idx, jsonl, txt, or a folder of pictures')
    .requiredOption('--out <folder>', 'where the manifest goes')
    .addOption(new Option('--task <name>', 'guessed from the label without it').choices(Object.keys(taskKinds)))
    .addOption(new Option('--arch <name>', 'kind of model').choices(['mlp', 'cnn', 'transformer', 'linear']))
    .addOption(
      new Option('--optimizer <name>', 'adamw without it; steps of sgd-exact can be proved').choices([
        ...['adamw', 'sgd', 'sgd-exact'],
      ]),
    )
    .option('--lr <rate>', 'peak of the learning rate')
    .option('--epochs <n>', 'passes over the data')
    .option('--batch <n>', 'rows of one step')
    .option('--seed <hex>', '0x and 64 digits; drawn without it');
  addDataOptions(init)
    .option('--json', 'print one JSON document')
    .action(async (options: InitOptions & OutputOptions) => {
      const made = await initModel(options);
      printResult(options, made, () =>
        [...made.why, ...made.notes, `${options.out}/manifest.json has it, plan.json in plain numbers.`].join('\n'),
      );
    });
  const check = model
    .command('check')
    .argument('<manifest>', 'fxt/2 manifest')
    .description('check the ranges of a manifest, estimate memory and time, and say what can be proved')
    .option('--data <file>', 'data that it shall train on')
    .option('--price-per-hour <amount>', 'what a node asks for an hour, for a hint at the price');
  addDataOptions(check)
    .option('--json', 'print one JSON document')
    .action(async (manifest: string, options: CheckOptions & OutputOptions) => {
      const checked = await checkModel(manifest, options);
      printResult(options, checked, () => checkedText(checked));
    });
}

function checkedText({ digest, parameters, memoryBytes, seconds, slowSeconds, price, rows, ...rest }: CheckedModel) {
  return table([
    ['manifest', `${digest}, ranges hold`],
    ['parameters', parameters.toLocaleString('en')],
    ['steps', `${rest.steps} of ${rest.batch} rows`],
    ['memory', `about ${Math.ceil(memoryBytes / 1e6)} MB, an estimate`],
    ['time', `about ${seconds} s on one thread; a job allows for ${slowSeconds} s`],
    ...(price === null ? [] : [['price', `about ${price.toPrecision(3)}`] as const]),
    ...(rows === null ? [] : [['data', `${rows.train} rows to train on, ${rows.validation} apart`] as const]),
    ['evidence', rest.evidence],
    ...rest.reasons.map((reason) => ['', reason] as const),
  ]);
}
