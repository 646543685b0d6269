/** `veritrain dataset seal|inspect|list|delete`. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { addRegisteredCommands } from '../dataset/registered.js';
import { later } from '../later.js';

export function addDatasetCommands(dataset: Command): void {
  const sealing = dataset
    .command('seal')
    .description(
      'shuffle, block, commit and encrypt a data set into shards; writes dataset.json and the data key. ' +
        'Called again after an interruption it goes on where it was',
    )
    .requiredOption(
      '--manifest <file>',
      'fxt/1 or fxt/2 manifest: batch, superblock, what a record holds, shuffle seed',
    )
    .option('--images <file>', 'for fxt/1: IDX file of unsigned bytes')
    .option('--labels <file>', 'file of labels: IDX for fxt/1; with --data that of an .npy or IDX file or a folder')
    .requiredOption('--out <folder>', 'where shards and dataset.json go; give this to the control plane')
    .requiredOption('--key <file>', 'where the data key goes (mode 600); give this to your key broker alone')
    .option(
      '--provable',
      'for fxt/1: commit in the form that step proofs open; takes about half a second for every 10,000 records',
    )
    .option('--proof-profile <name>', 'with --provable: profile of the proofs; else the first that the contract takes')
    .option('--groth16', 'for fxt/1: commit besides in the form that Groth16 proofs open; small models alone')
    .option('--records-max <n>', 'for fxt/1: seal at most so many records, taken after the shuffle', wholeNumber)
    .option('--json', 'print one JSON document; progress is one document a line on standard error');
  addDataOptions(sealing).action(later(async () => (await import('../dataset/seal.js')).seal));
  dataset
    .command('inspect')
    .argument('<folder>', 'a sealed data set')
    .description('check a sealed data set and say what it holds')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../dataset/seal.js')).inspect));
  addRegisteredCommands(dataset);
}

/** What libs/data is asked for. */
function addDataOptions(sealing: Command): Command {
  return sealing
    .option('--data <path>', 'for fxt/2: CSV, TSV, Parquet, JSON lines, text, .npy, .npz, IDX, or a folder of pictures')
    .option('--validation <path|share>', 'for manifests that evaluate: a file of its own, a share such as 10%, or rows')
    .option('--label <columns>', 'columns of the label, with commas; else as `model init` read the data', names)
    .addOption(
      new Option('--task <kind>', 'what the label is; else by its values').choices([
        'class',
        'real',
        'vector',
        'tokens',
      ]),
    )
    .option('--drop <columns>', 'columns that are not read, with commas', names)
    .option('--no-names', 'CSV: the first line is a row; columns are c1, c2, …')
    .option('--drop-unlabelled', 'leave out rows without a label, which are refused otherwise')
    .option(
      '--arrays <names>',
      'npz: the arrays that are read, with commas, under other names where given: x=x_train',
      names,
    )
    .option('--validation-arrays <names>', 'npz: those of the validation file, likewise', names)
    .option('--tokenizer <file>', 'tokenizer.json of a text; else its characters')
    .option('--text-field <name>', 'member of JSON lines that holds the text');
}

function names(text: string): readonly string[] {
  return text.split(',').map((one) => one.trim());
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number of at least 1');
  return Number(text);
}
