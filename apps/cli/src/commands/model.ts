/** `veritrain model init|check|import|export`. */
import { Option, type Command } from 'commander';
import { differenceWords } from '../model/agreement-words.js';
import { checkModel, type CheckedModel, type CheckOptions } from '../model/check.js';
import { addDataOptions } from '../model/data.js';
import { exportModel, type ExportOptions } from '../model/export.js';
import { figure } from '../model/figure.js';
import { importModel, type ImportedReport, type ImportOptions } from '../model/import.js';
import { initModel, type InitOptions } from '../model/init.js';
import { columnTable } from '../model/column-table.js';
import { addWishOptions } from '../model/wish.js';
import type { Agreement } from '#libs/models';
import { showProgress } from '../progress.js';
import { printResult, ownTable, type OutputOptions } from '../output.js';

export function addModelCommands(model: Command): void {
  const init = model
    .command('init')
    .description(
      'look at data, say what each column becomes, choose a model and say why; writes manifest.json and plan.json',
    );
  addDataOptions(addWishOptions(init))
    .option('--json', 'print one JSON document')
    .action(async (options: InitOptions & OutputOptions) => {
      const made = await initModel(options, showProgress(options));
      printResult(options, made, () =>
        [...made.why, ...made.notes, columnTable(made.columns), writtenWords(made), nextWords(options)].join('\n'),
      );
    });
  addCheck(model);
  addImport(model);
  addExport(model);
}

function addCheck(model: Command): void {
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

function addImport(model: Command): void {
  const command = model
    .command('import')
    .argument('<file>', 'model.onnx as PyTorch or Keras export it, or weights.safetensors')
    .description(
      'make a manifest around a model that exists, with its weights as start.bin, for data that it shall be trained on',
    );
  addDataOptions(addWishOptions(command))
    .addOption(
      new Option(
        '--inputs <kind>',
        'onnx: what the file takes: features as the data set scales them, or your own numbers; without it scaled, but what a file takes that model export wrote, and raw where it takes uint8',
      ).choices(['scaled', 'raw']),
    )
    .addOption(
      new Option(
        '--outputs <kind>',
        'onnx, a label of numbers: what the file answers with, as the data set scales them or in their own unit; as --inputs without it',
      ).choices(['scaled', 'raw']),
    )
    .option('--axis <name=size...>', 'onnx: sizes of free axes')
    .option('--layers <file>', 'safetensors: a manifest, or the list of its layers; the planner chooses without it')
    .option('--map <file>', 'safetensors: JSON {"map": {"fc1.weight": "n0.W^T"}}; without it, names of parameters')
    .option('--classes <n>', 'give the model a new last layer of so many outputs; all other weights stay')
    .option('--freeze <layer...>', 'layers that are not trained; but-last for all but the last one')
    .option('--lora <rank>', 'train adapters of this rank on all linear layers, and nothing else')
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: ImportOptions & OutputOptions) => {
      const made = await importModel(file, options);
      printResult(options, made, () => `${importedText(made)}\n${nextWords(options)}`);
    });
}

function addExport(model: Command): void {
  model
    .command('export')
    .description('write a trained model as model.onnx (float32) and model.safetensors, and compare it on data')
    .requiredOption('--model <folder>', 'a trained model: manifest.json, header.json, weights.bin')
    .requiredOption('--out <folder>', 'where the files go')
    .option('--data <file>', 'a file as the model was trained on: all of it is compared')
    .option('--labels <file>', 'pictures and arrays: the file of their labels')
    .option('--arrays <array...>', 'npz: the arrays that are read, under names that the model knows: x=x_test')
    .option('--text-field <name>', 'JSON lines: the member that holds the text, where the model learned from another')
    .option('--merge-lora', 'make adapters part of the layers that they are on')
    .option('--integers', 'tables: the ONNX model takes the integers of the data set, not your own numbers')
    .option('--json', 'print one JSON document')
    .action(async (options: ExportOptions & OutputOptions) => {
      const made = await exportModel(options);
      printResult(options, made, () =>
        ownTable([
          ['onnx', made.onnx],
          ['safetensors', made.safetensors],
          ['takes', made.input],
          ['answers', made.output],
          ['', `each column of both: ${made.interface}`],
          ['tensors', made.tensors],
          ...made.warnings.map((warning) => ['warning', warning] as const),
          ['check', made.check === null ? 'none: no --data was given' : agreementWords(made.check)],
        ]),
      );
    });
}

function importedText({ why, notes, check, before, warnings, out, ...rest }: ImportedReport): string {
  return [
    ...[...why, ...notes],
    ownTable([
      ['layers', rest.layers.join(', ')],
      ['parameters', `${rest.parameters} of which ${rest.trainedParameters} are trained`],
      ['start', `${out}/start.bin, root ${rest.root}`],
      ['check', `on the ${check.set} set against ${check.against}: ${agreementWords(check)}`],
      ...before.metrics.map(
        ({ name, value, unit }) =>
          [name, `${figure(value)} before training${unit === undefined ? '' : `, in units of ${unit}`}`] as const,
      ),
      ...warnings.map((warning) => ['warning', warning] as const),
    ]),
    writtenWords({ out, ...rest }),
  ].join('\n');
}

function writtenWords({ out, replaced }: { readonly out: string; readonly replaced: boolean }): string {
  const former = replaced ? ' The plan that stood there is replaced.' : '';
  return `${out}/manifest.json has it, plan.json in plain numbers.${former}`;
}

/** On this machine, and as a job. */
function nextWords({ from, out }: Pick<InitOptions, 'from' | 'out'>): string {
  return [
    `Next: veritrain train --manifest ${out}/manifest.json --data ${from} --out FOLDER   on this machine, or as a job`,
    `      veritrain dataset seal --manifest ${out}/manifest.json --data ${from} --out FOLDER --key FILE`,
  ].join('\n');
}

function agreementWords(check: Agreement): string {
  return `float32 and integers differ by at most ${differenceWords(check, `${check.records} records`)}`;
}

function checkedText({ digest, parameters, memoryBytes, seconds, slowSeconds, price, rows, ...rest }: CheckedModel) {
  return ownTable([
    ['manifest', `${digest}, ranges hold`],
    ['parameters', parameters.toLocaleString('en')],
    ['steps', `${rest.steps} of ${rest.batch} rows`],
    ['memory', `about ${Math.ceil(memoryBytes / 1e6)} MB, an estimate`],
    ['time', `about ${seconds} s on one thread; a job allows for ${slowSeconds} s`],
    ...(price === null ? [] : [['price', `about ${price.toPrecision(3)}`] as const]),
    ...(rows === null ? [] : [['data', `${rows.train} rows to train on, ${rows.validation} apart`] as const]),
    ['evidence', rest.evidence],
    ...byReason(rest.reasons).map((reason) => ['', reason] as const),
  ]);
}

/** `n0: why`, `n2: why` as one line `n0, n2: why`. */
function byReason(reasons: readonly string[]): readonly string[] {
  const names = new Map<string, string[]>();
  for (const reason of reasons) {
    const [name, ...why] = reason.split(': ');
    const same = names.get(why.join(': '));
    if (same === undefined) names.set(why.join(': '), [name!]);
    else same.push(name!);
  }
  return [...names].map(([why, all]) => `${all.join(', ')}: ${why}`);
}
