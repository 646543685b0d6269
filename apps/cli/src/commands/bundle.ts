/** `veritrain bundle verify`. */
import type { Command } from 'commander';
import { verifyBundleFile } from '#libs/client/judging';
import { isIdle, judgedBy, workOf, type BundleVerdict } from '#libs/review';
import { checkLines } from '../checks.js';
import { judgedByLines } from '../judged-by.js';
import { judgingTime, timeText } from '../judging-time.js';
import { digest, printResult, table, type OutputOptions } from '../output.js';
import { reliance, simulatedRefused } from '../reliance.js';

interface VerifyCommandOptions extends OutputOptions {
  readonly policy?: string;
  readonly ownPolicy?: boolean;
  readonly allowSimulated?: boolean;
  readonly at?: number;
  readonly developmentKeys?: boolean;
  readonly verificationKey?: Uint8Array;
  readonly start?: string;
  readonly logPolicy?: string;
  readonly logExport?: string;
  readonly material: readonly string[];
}

export function addBundleCommands(bundle: Command): void {
  bundle
    .command('verify')
    .argument('<file>', 'an evidence bundle')
    .description('verify a bundle from the file alone and explain every check')
    .option('--policy <file>', 'your own appraisal policy')
    .option('--own-policy', 'be content with the policy in the bundle, which its maker chose')
    .option('--allow-simulated', 'be content with simulated hardware, which shows the software alone')
    .option('--at <time>', `judge as of then, else as of when the evidence was fresh: ${timeText}`, judgingTime)
    .option('--verification-key <hex>', 'digest of the only Groth16 key that is taken', digest)
    .option('--start <file>', startText)
    .option('--log-policy <file>', 'demand that the job is logged: logs and witnesses that you trust (tlog-policy)')
    .option('--log-export <file>', exportText)
    .option('--material <file>', materialText, collect, [])
    .option('--development-keys', 'take Groth16 keys that one machine made, which could forge')
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: VerifyCommandOptions) => {
      const verdict = await verifyBundleFile(file, options);
      const refusedFor = refusal(verdict, options);
      const ok = refusedFor === null;
      printResult(options, { ok, refusedFor, ...verdictJson(verdict, options) }, () =>
        readable(verdict, refusedFor, options),
      );
      if (!ok) process.exitCode = 1;
    });
}

/** Why a reader who trusts nobody may not rely on the bundle; null: it may. */
function refusal({ tier, simulated, material }: BundleVerdict, options: VerifyCommandOptions): string | null {
  if (tier !== 'affirming' && tier !== 'warning') return 'the bundle does not show what it claims';
  const hasOwn = options.policy !== undefined || material.some(({ counts, kind }) => counts && kind === 'policy');
  if (!hasOwn && options.ownPolicy !== true) {
    return 'judged by the policy in the bundle alone, which its maker chose: name yours with --policy, or say --own-policy';
  }
  return simulated && options.allowSimulated !== true ? simulatedRefused : null;
}

export const materialText =
  'a CRL, OCSP answer, manifest, collateral, advisories, policy or log policy of yours; repeat';

export const startText = 'start weights of a job whose manifest names some: start.bin of `model import`';
export const exportText = 'what was revoked since: an export of your own (`log export`)';

export const collect = (file: string, before: readonly string[]): readonly string[] => [...before, file];

function verdictJson(verdict: BundleVerdict, { at }: VerifyCommandOptions): Record<string, unknown> {
  const { tier, simulated, jobId, escrowId, datasetRoot, result, steps, segments, checks, notChecked } = verdict;
  const transactions = verdict.bundle.settlement.transactions.map(({ call, hash }) => ({
    call,
    hash: `0x${Buffer.from(hash).toString('hex')}`,
  }));
  const measured = verdict.evaluations && { evaluations: verdict.evaluations };
  const shown = { tier, simulated, jobId, escrowId, datasetRoot, result, steps, segments, ...measured };
  const facts = { log: verdict.log, work: workOf(verdict) };
  const doesNotApply = checks.filter((check) => isIdle(verdict, check)).map(({ id }) => id);
  const judged = { at: at ?? null, ...judgedBy(verdict) };
  return { ...shown, ...facts, ...judged, checks, doesNotApply, notChecked, material: verdict.material, transactions };
}

/** Ranges of steps with the same evidence. */
function vouchedSteps({ segments }: BundleVerdict): [string, string][] {
  const ranges: { from: number; to: number; by: string }[] = [];
  for (const { stepFrom, stepCount, isSigned, isProved } of segments) {
    const by = [isSigned ? 'sealed by an enclave' : '', isProved ? 'proved' : ''].filter(Boolean).join(', ');
    const last = ranges.at(-1);
    if (last?.by === by) last.to = stepFrom + stepCount;
    else ranges.push({ from: stepFrom, to: stepFrom + stepCount, by });
  }
  return ranges.map(({ from, to, by }) => [`steps ${from} to ${to}`, by]);
}

function workLines(verdict: BundleVerdict): [string, string][] {
  const work = workOf(verdict);
  if (work === null) return [];
  const { rowsUsed, rows, epochs, forwardMultiplyAdds } = work;
  return [
    ['rows used', `${rowsUsed} of a data set of ${rows}: ${epochs} epochs`],
    ['multiply-adds', `${forwardMultiplyAdds} of forward passes`],
  ];
}

/** The curve over the validation set. */
function measuredSteps({ evaluations }: BundleVerdict): [string, string][] {
  if (evaluations === null) return [];
  const { validationRoot, records, curve, deliveredStep } = evaluations;
  const rows = curve.map(({ step, metrics }): [string, string] => [
    `after step ${step}`,
    `${metrics.map(({ figure }) => figure).join(', ')}${step === deliveredStep ? ', delivered' : ''}`,
  ]);
  return [['validation set', `${records} rows, root ${validationRoot}`], ...rows];
}

function shownLog({ bundle, log, checks }: BundleVerdict): string {
  if (bundle.log === undefined && checks.some(({ id }) => id === 'LOG_BUNDLE')) return 'not logged';
  if (log === null) return checks.some(({ id }) => id === 'LOG_BUNDLE') ? 'nothing is shown' : 'none in this version';
  const { entries, origins, independent } = log;
  const seen = entries.every(({ witnessedAt }) => witnessedAt !== null);
  const last = entries.at(-1)!.witnessedAt;
  const witnessed = seen
    ? `witnessed by ${new Date(last! * 1000).toISOString()}`
    : 'witnessed by nobody that you named';
  const others = seen ? `, ${independent.length} independent of the log` : '';
  return `${entries.length} entries in ${origins.join(', ')}, ${witnessed}${others}`;
}

/** Signatures of a log that no key of the reader's is for are nobody's word. */
function unjudgedProofs({ log }: BundleVerdict): [string, string][] {
  if (log === null || log.unchecked.length === 0) return [];
  const { unchecked, entries } = log;
  const some = `${unchecked.length} of ${entries.length} have signatures by keys that you did not name`;
  return [['log proofs', `not judged: ${some}, where a changed byte is not seen; name them with --log-policy`]];
}

function shownPiece({ kind, counts, sha256 }: BundleVerdict['material'][number]): [string, string] {
  const state = kind === 'unknown' ? 'not recognised' : counts ? 'counts' : 'changes no check';
  return [`material, ${kind}`, `${sha256.slice(0, 12)}…: ${state}`];
}

function readable(verdict: BundleVerdict, refusedFor: string | null, { at }: VerifyCommandOptions): string {
  const head = table([
    ['verdict', verdict.tier],
    ['hardware', verdict.simulated ? 'SIMULATED: this shows the software, not a machine' : 'as attested'],
    ['job', verdict.jobId],
    ...judgedByLines(verdict, at),
    ['data set root', verdict.datasetRoot],
    ['result', verdict.result],
    ['steps', String(verdict.steps)],
    ...workLines(verdict),
    ...vouchedSteps(verdict),
    ...measuredSteps(verdict),
    ['log', shownLog(verdict)],
    ...unjudgedProofs(verdict),
    ...verdict.material.map(shownPiece),
    ['not checked', verdict.notChecked.join(', ') || 'nothing'],
    ['rely on it', reliance(refusedFor)],
  ]);
  return `${checkLines(verdict.checks, (check) => isIdle(verdict, check))}\n\n${head}`;
}
