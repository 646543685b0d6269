/** What `veritrain job submit|result` do; commands/job.ts has their options. */
import { type Assurance } from '#attestation/records';
import {
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
import { makeResultFolder } from '../model/folder.js';
import { exactWords } from '../model/metric-line.js';
import { overfitLine } from '../model/overfit-line.js';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { showProgress, showProofs } from '../progress.js';
import { eventLine } from './event-line.js';
import { following } from './interrupted.js';
import { showOrder } from './order-lines.js';

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

function open(options: ProfileOptions): { profile: Profile; api: ControlPlaneApi } {
  const profile = loadProfile(options.profile);
  return { profile, api: openApi(profile) };
}

export async function submit(options: SubmitOptions): Promise<void> {
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

export async function result(id: string, options: ProfileOptions & { out: string }): Promise<void> {
  const { profile, api } = open(options);
  makeResultFolder(options.out, id);
  const checked = await following('the same command takes its result', () =>
    takeResult(id, options.out, profile, api, (event) => log(eventLine(event))),
  );
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
