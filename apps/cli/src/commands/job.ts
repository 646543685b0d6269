/** `veritrain job submit|result`; what steers a job is in steering.ts. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { defaultSamples } from '#libs/client/api';
import { later } from '../later.js';
import { wholeNumber } from '../output.js';
import { addEscrowCommands } from './escrow.js';
import { jobId } from './ids.js';
import { addSteeringCommands } from './steering.js';

export function addJobCommands(job: Command): void {
  const command = (name: string, description: string): Command =>
    job
      .command(name)
      .description(description)
      .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
      .option('--json', 'print one JSON document');
  addSteeringCommands(job);

  const submitting = command('submit', 'upload a sealed data set, submit a job and fund its escrow')
    .requiredOption('--manifest <file>', 'fxt/1 or fxt/2 manifest; start.bin beside it where it starts from weights')
    .requiredOption('--dataset <folder>', 'sealed data set')
    .option(
      '--segment-steps <n>',
      'steps per checkpoint; without it a superblock of a job that can be proved, else a tenth of the job',
      wholeNumber,
    )
    .option('--parallel <n>', 'workers that train a segment each between two averages', wholeNumber, 1)
    .option('--provider <address>', 'account of the node that is to do it; else the first of the profile’s `providers`')
    .option('--absent-provider', 'with --provider: also one that no node of the control plane has')
    .option(
      '--any-provider',
      'where none of the profile’s `providers` can: whoever is first of the nodes that say they can',
    )
    .addOption(
      new Option('--assurance <kind>', 'how every step is vouched for')
        .choices(['tee', 'zk', 'tee+zk', 'sampled'])
        .default('tee'),
    )
    .option(
      '--samples <k>',
      'segments that are drawn to be proved, with --assurance sampled: at most 4,000, and eight times the segments',
      wholeNumber,
      defaultSamples,
    )
    .option(
      '--high-value',
      'by an enclave and by proofs; so is every job that pays as much as the profile’s highValueFromWei',
    )
    .addOption(
      new Option('--on-lapse <kind>', 'how a job goes on whose enclave is attested no more: in another, or proved')
        .choices(['tee', 'zk'])
        .default('tee'),
    )
    .addOption(
      new Option('--backend <name>', 'what proves it; auto: by what proving and verifying costs')
        .choices(['sumcheck', 'groth16', 'auto'])
        .default('sumcheck'),
    )
    .option('--groth16-key <file>', 'the verification key of Groth16 proofs, as you trust it: key.json of `proof key`')
    .addOption(new Option('--reward <ether>', 'what the node is paid').argParser(ether).default(10n ** 18n, '1'))
    .action(later(async () => (await import('../job/order-and-result.js')).submit));
  addTermOptions(submitting);
  command('result', 'check the evidence, pay, decrypt and export the model')
    .argument('<id>', 'job id', jobId)
    .requiredOption(
      '--out <folder>',
      'where model.onnx, weights.bin, manifest.json and job.vtb go, of a net all that predict needs; a folder without another model',
    )
    .action(later(async () => (await import('../job/order-and-result.js')).result));
  addEscrowCommands(command);
}

/** What the escrow demands besides money. */
function addTermOptions(submitting: Command): void {
  submitting
    .option(
      '--attestors <accounts>',
      'accounts, with commas, that vouch for the enclave beside the key broker',
      accounts,
    )
    .option('--needed <n>', 'how many of --attestors must; absent: all', wholeNumber)
    .option(
      '--snp-policy <id>',
      'on-chain policy that the enclave’s SNP evidence must meet: see `policy snp`',
      digestText,
    )
    .option(
      '--run-hours <h>',
      'how long training takes; absent: estimated for a slow machine by the model’s size',
      hours,
    )
    .option('--proof-seconds <n>', 'in which a segment is proved; absent: estimated likewise', wholeNumber);
}

function hours(text: string): number {
  const value = Number(text);
  if (/^[0-9]+(\.[0-9]+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('hours above 0, such as 2.5');
}

function accounts(text: string): readonly string[] {
  const listed = text.split(',').map((one) => one.trim().toLowerCase());
  if (listed.every((one) => /^0x[0-9a-f]{40}$/.test(one))) return listed;
  throw new InvalidArgumentError('accounts as 0x and 40 hexadecimal digits, with commas');
}

function digestText(text: string): string {
  if (/^0x[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('0x and 64 hexadecimal digits');
}

function ether(text: string): bigint {
  const [, whole = '', part = ''] = /^(?=\.?\d)(\d*)\.?(\d{0,18})$/.exec(text) ?? [];
  const amount = BigInt(`0${whole}${part.padEnd(18, '0')}`);
  if (amount > 0n) return amount;
  throw new InvalidArgumentError('an amount in ether such as 0.5');
}
