/** `veritrain job submit|watch|status|list|cancel|result`. */
import { join } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseEther } from 'ethers';
import { ConfigurationError } from '#attestation';
import { canonicalManifest, floatOnnx, encodeWeights } from '#libs/step';
import { createApi, type ControlPlaneApi } from '../api.js';
import { writeWhole } from '../files.js';
import { eventLine } from '../job/event-line.js';
import { followJob, type JobView } from '../job/follow.js';
import { fetchBundle, fetchResult } from '../job/result.js';
import { submitJob } from '../job/submit.js';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { readPolicy } from '../policy.js';
import { loadProfile, type Profile } from '../profile.js';
import { addEscrowCommands } from './escrow.js';

interface CommonOptions extends OutputOptions {
  readonly profile?: string;
}

interface SubmitOptions extends CommonOptions {
  readonly manifest: string;
  readonly dataset: string;
  readonly segmentSteps: number;
  readonly provider?: string;
  readonly reward: bigint;
}

export function addJobCommands(program: Command): void {
  const job = program.command('job').description('submit jobs, follow them, fetch results');
  const command = (name: string, description: string): Command =>
    job
      .command(name)
      .description(description)
      .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
      .option('--json', 'print one JSON document');

  command('submit', 'upload a sealed data set, submit a job and fund its escrow')
    .requiredOption('--manifest <file>', 'fxt/1 manifest')
    .requiredOption('--dataset <folder>', 'sealed data set')
    .requiredOption('--segment-steps <n>', 'steps per checkpoint', whole)
    .option('--provider <address>', 'account of the node that is to do it; else the first node that is online')
    .addOption(new Option('--reward <ether>', 'what the node is paid').argParser(ether).default(parseEther('1'), '1'))
    .action((options: SubmitOptions) => submit(options));
  command('watch', 'show a job until it ends')
    .argument('<id>', 'job id')
    .action(async (id: string, options: CommonOptions) => {
      const { api } = open(options);
      const view = await followJob(id, api, (event) => log(eventLine(event)));
      printJob(view, options);
      if (view.state !== 'settled') process.exitCode = 1;
    });
  command('status', 'show a job once')
    .argument('<id>', 'job id')
    .action(async (id: string, options: CommonOptions) => {
      printJob(await open(options).api.get<JobView>(`jobs/${id}`), options);
    });
  command('cancel', 'cancel a job that is not delivered')
    .argument('<id>', 'job id')
    .action(async (id: string, options: CommonOptions) => {
      printJob(await open(options).api.post<JobView>(`jobs/${id}/cancel`, {}), options);
    });
  command('list', 'list jobs, newest first')
    .option('--state <state>', 'only jobs in this state')
    .option('--limit <n>', 'at most this many', whole, 20)
    .action(list);
  command('result', 'check the evidence, pay, decrypt and export the model')
    .argument('<id>', 'job id')
    .requiredOption('--out <folder>', 'where model.onnx, weights.bin, manifest.json and job.vtb go')
    .action(result);
  addEscrowCommands(command);
}

function open(options: CommonOptions): { profile: Profile; api: ControlPlaneApi } {
  const profile = loadProfile(options.profile);
  return { profile, api: createApi(profile.controlPlane.url, profile.controlPlane.apiKey) };
}

async function submit(options: SubmitOptions): Promise<void> {
  const { profile, api } = open(options);
  const provider = options.provider ?? (await readyProvider(api));
  const submitted = await submitJob({ ...options, provider, rewardWei: options.reward }, profile, api);
  const { jobId, escrowId, fundTransaction } = submitted;
  printResult(options, { jobId, escrowId, fundTransaction, provider }, () =>
    table([
      ['job', jobId],
      ['escrow', escrowId],
      ['funded', fundTransaction],
      ['provider', provider],
      ['next', `veritrain job watch ${jobId}`],
    ]),
  );
}

async function list(options: CommonOptions & { state?: string; limit: number }): Promise<void> {
  const query = new URLSearchParams({ limit: String(options.limit), ...(options.state && { state: options.state }) });
  const page = await open(options).api.get<{ items: JobView[]; nextCursor: string | null }>(`jobs?${query.toString()}`);
  printResult(options, page, () =>
    page.items.length === 0
      ? 'no jobs'
      : table(page.items.map((item) => [item.id, `${item.state.padEnd(10)} ${progressOf(item)}  ${item.createdAt}`])),
  );
}

async function result(id: string, options: CommonOptions & { out: string }): Promise<void> {
  const { profile, api } = open(options);
  await followJob(id, api, (event) => log(eventLine(event)), ['delivered', 'settled']);
  const { policy } = readPolicy(profile.policy);
  const checked = await fetchResult(id, profile, policy, api);
  const path = (name: string): string => join(options.out, name);
  writeWhole(path('model.onnx'), floatOnnx(checked.manifest, checked.weights));
  writeWhole(path('weights.bin'), encodeWeights(checked.weights));
  writeWhole(path('manifest.json'), canonicalManifest(checked.manifest));
  writeWhole(path('job.vtb'), await fetchBundle(id, profile, policy, api));
  const { stateDigest, weightsDigest, settledBy, verdict } = checked;
  const report = { stateDigest, weightsDigest, settledBy, verdict: verdict.tier, simulated: verdict.simulated };
  printResult(options, { ...report, out: options.out }, () =>
    table([
      ['verdict', `${verdict.tier}${verdict.simulated ? ' (SIMULATED hardware)' : ''}`],
      ['state digest', stateDigest],
      ['settled', settledBy],
      ['written', `${options.out}: model.onnx weights.bin manifest.json job.vtb`],
    ]),
  );
}

interface NodeView {
  readonly provider: string;
  readonly online: boolean;
}

async function readyProvider(api: ControlPlaneApi): Promise<string> {
  const { items } = await api.get<{ items: NodeView[] }>('nodes?limit=100');
  const ready = items.find(({ online }) => online);
  if (ready !== undefined) return ready.provider;
  throw new ConfigurationError('NODE_NONE', {
    expected: 'a node that is online',
    got: `${items.length} nodes, none online`,
    rule: 'job submit',
    action: 'start a host agent, or name an account with --provider',
  });
}

function printJob(view: JobView, options: OutputOptions): void {
  printResult(options, view, () =>
    table([
      ['job', view.id],
      ['state', `${view.state}${view.code === null ? '' : ` (${view.code})`}`],
      ...(view.reason === null ? [] : [['reason', JSON.stringify(view.reason)] as const]),
      ['progress', progressOf(view)],
      ['escrow', `${view.escrowState} ${view.escrowId}`],
      ['settled by', view.settlementTransaction ?? '–'],
      ['attempt', String(view.attempt)],
    ]),
  );
}

function progressOf({ progress, steps }: JobView): string {
  return progress === null ? `0 of ${steps} steps` : `${progress.step} of ${progress.of} steps`;
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number above 0');
  return Number(text);
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
