/** What `veritrain node preflight` does; commands/node.ts has its options. */
import { readPolicy } from '#libs/client/judging';
import { CollateralStore } from '#libs/collateral';
import { printResult, table, type OutputOptions } from '../output.js';
import type { MachineOptions } from './collect.js';
import { postedPolicy, postPreflight, type PostOptions } from './post.js';
import { preflight, type PreflightReport } from './preflight.js';

interface PreflightOptions extends OutputOptions, MachineOptions, PostOptions {
  readonly policy: string;
  readonly cache: string;
  readonly offline?: boolean;
}

export async function preflightHere(options: PreflightOptions): Promise<void> {
  const store = new CollateralStore({ directory: options.cache, offline: options.offline === true });
  const at = Math.floor(Date.now() / 1000);
  const report = await preflight(options, readPolicy(options.policy).policy, store, at);
  const text = (): string => preflightText(report);
  await postPreflight(options, postedPolicy(report, options.attester === 'simulated'), text);
  printResult(options, report, text);
  if (!report.ok) process.exitCode = 1;
}

function preflightText({ ok, appraisal, at, policy, facts, findings }: PreflightReport): string {
  const head = table([
    ['verdict', ok ? 'this machine would pass' : 'this machine would NOT pass'],
    ['appraisal', appraisal ?? 'no evidence could be collected'],
    ['policy', policy],
    ['as of', `${isoTime(at)} (now, by this machine’s clock)`],
  ]);
  const parts = facts === null ? [] : [facts.cpu, ...facts.gpus].map((part) => table(Object.entries(part)));
  const dates = facts?.certificates.map(({ subject, notAfter }) => `${isoTime(notAfter)}  ${subject}`) ?? [];
  const problems = findings.map(
    ({ area, weight, code, expected, got, action }) =>
      `${weight === 'blocking' ? '✗' : '!'} ${area}: ${code}\n    expected ${expected}\n    got      ${got}\n    do       ${action}`,
  );
  return [
    ...parts,
    ...(dates.length === 0 ? [] : [`certificates last until\n${dates.join('\n')}`]),
    problems.length === 0 ? 'nothing to fix' : problems.join('\n'),
    head,
  ].join('\n\n');
}

function isoTime(unix: number): string {
  return new Date(unix * 1000).toISOString();
}
