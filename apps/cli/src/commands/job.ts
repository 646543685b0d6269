/** `veritrain job submit|result`; what steers a job is in steering.ts. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseEther } from 'ethers';
import { type Assurance } from '#attestation/records';
import {
  defaultSamples,
  loadProfile,
  openApi,
  orderJob,
  takeResult,
  type BackendWish,
  type ControlPlaneApi,
  type OnLapse,
  type Profile,
  type SignedFigures,
} from '#libs/client';
import { eventLine } from '../job/event-line.js';
import { showOrder } from '../job/order-lines.js';
import { makeResultFolder } from '../model/folder.js';
import { exactWords } from '../model/metric-line.js';
import { overfitLine } from '../model/overfit-line.js';
import { log, printResult, table, wholeNumber, type OutputOptions } from '../output.js';
import { showProgress, showProofs } from '../progress.js';
import { addEscrowCommands } from './escrow.js';
import { jobId } from './ids.js';
import { addSteeringCommands } from './steering.js';

/** Options of commands that need chain, broker or keys of the client besides the control plane. */
interface ProfileOptions extends OutputOptions {
  readonly profile?: string;
}

interface SubmitOptions extends ProfileOptions {
  readonly manifest: string;
  readonly dataset: string;
  readonly segmentSteps?: number;
  readonly parallel: number;
  readonly provider?: string;
  readonly absentProvider?: boolean;
  readonly anyProvider?: boolean;
  readonly reward: bigint;
  readonly attestors?: readonly string[];
  readonly needed?: number;
  readonly snpPolicy?: string;
  readonly runHours?: number;
  readonly proofSeconds?: number;
  readonly assurance: Assurance;
  readonly samples: number;
  readonly highValue?: boolean;
  readonly onLapse: OnLapse;
  readonly backend: BackendWish;
  readonly groth16Key?: string;
}

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
    .addOption(new Option('--reward <ether>', 'what the node is paid').argParser(ether).default(parseEther('1'), '1'))
    .action((options: SubmitOptions) => submit(options));
  addTermOptions(submitting);
  command('result', 'check the evidence, pay, decrypt and export the model')
    .argument('<id>', 'job id', jobId)
    .requiredOption(
      '--out <folder>',
      'where model.onnx, weights.bin, manifest.json and job.vtb go, of a net all that predict needs; a folder without another model',
    )
    .action(result);
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

function open(options: ProfileOptions): { profile: Profile; api: ControlPlaneApi } {
  const profile = loadProfile(options.profile);
  return { profile, api: openApi(profile) };
}

async function submit(options: SubmitOptions): Promise<void> {
  const { profile, api } = open(options);
  const watch = { ...showProgress(options), onProofs: showProofs(options), ...showOrder(options) };
  const ordered = await orderJob({ ...options, rewardWei: options.reward, run: options }, profile, api, watch);
  const { jobId, escrowId, fundTransaction, run, advice, terms, spec, provider, decision, why } = ordered;
  const { scheme, proving } = spec;
  const { compute, provePer } = terms.windows;
  for (const sentence of advice) log(sentence);
  const document = { jobId, escrowId, fundTransaction, provider, ...decision, scheme, why, run, advice };
  printResult(options, document, () =>
    table([
      ['job', jobId],
      ['assurance', `${decision.assurance} (${decision.reason})`],
      ['scheme', proving === null ? scheme : `${scheme} (${why.join('; ')})`],
      ['escrow', escrowId],
      ['funded', fundTransaction],
      ['provider', provider],
      ['run', `reckoned at ${run.runSeconds} s; ${compute} s to compute, ${provePer} s for each proof`],
      ['next', `veritrain job result ${jobId} --out <folder>`],
    ]),
  );
}

async function result(id: string, options: ProfileOptions & { out: string }): Promise<void> {
  const { profile, api } = open(options);
  makeResultFolder(options.out, id);
  const checked = await takeResult(id, options.out, profile, api, (event) => log(eventLine(event)));
  const { stateDigest, weightsDigest, settledBy, verdict, measured, overfit } = checked;
  const { tier, simulated } = verdict;
  const report = { stateDigest, weightsDigest, settledBy, verdict: tier, simulated, measured, overfit };
  printResult(options, { ...report, out: options.out }, () =>
    table([
      ['verdict', `${tier}${simulated ? ' (SIMULATED hardware)' : ''}`],
      ['state digest', stateDigest],
      ...(measured === null ? [] : [['measured', signedWords(measured)] as const]),
      ...(overfit === null ? [] : [overfitLine(overfit)]),
      ['settled', settledBy],
      ['written', `${options.out}: ${checked.files.join(' ')}`],
    ]),
  );
}

function signedWords({ step, records, metrics }: SignedFigures): string {
  const figures = metrics.map(({ figure, name, scale, ...exact }) => {
    const isKnown = name !== undefined && scale !== undefined;
    return `${figure} (${isKnown ? exactWords({ ...exact, name, scale }) : `${exact.numerator}/${exact.denominator}`})`;
  });
  return `${figures.join(', ')} on ${records} rows apart after step ${step}, as the evidence has it`;
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
  try {
    const amount = parseEther(text);
    if (amount > 0n) return amount;
  } catch {
    // the message below is the better one
  }
  throw new InvalidArgumentError('an amount in ether such as 0.5');
}
