/** `veritrain node list | preflight`. */
import { Option, type Command } from 'commander';
import { CollateralStore } from '#libs/collateral';
import { createApi } from '../api.js';
import { printResult, table, type OutputOptions } from '../output.js';
import { readPolicy } from '../policy.js';
import type { MachineOptions } from '../preflight/collect.js';
import { preflight, type PreflightReport } from '../preflight/preflight.js';
import { loadProfile } from '../profile.js';

interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly online: boolean;
  readonly capabilities: { readonly tee: string; readonly cores: number };
}

export function addNodeCommands(program: Command): Command {
  const node = program.command('node').description('nodes that train');
  node
    .command('list')
    .description('list the nodes that the control plane knows')
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--json', 'print one JSON document')
    .action(async (options: OutputOptions & { profile?: string }) => {
      const { controlPlane } = loadProfile(options.profile);
      const page = await createApi(controlPlane.url, controlPlane.apiKey).get<{ items: NodeView[] }>('nodes?limit=100');
      printResult(options, page, () =>
        page.items.length === 0
          ? 'no nodes'
          : table(
              page.items.map(({ id, name, online, provider, capabilities }) => [
                id,
                `${(online ? 'online' : 'offline').padEnd(8)} ${name}  ${capabilities.tee}, ${capabilities.cores} cores  ${provider}`,
              ]),
            ),
      );
    });
  addPreflight(node);
  return node;
}

interface PreflightOptions extends OutputOptions, MachineOptions {
  readonly policy: string;
  readonly cache: string;
  readonly offline?: boolean;
}

function addPreflight(node: Command): void {
  node
    .command('preflight')
    .description('say whether this machine would pass a policy, and what to fix')
    .requiredOption('--policy <file>', 'the appraisal policy to pass')
    .addOption(
      new Option('--attester <name>', 'source of CPU evidence').choices(['snp', 'tdx', 'simulated']).default('snp'),
    )
    .option('--vendor <file>', 'simulated vendor, for the simulated attester')
    .addOption(new Option('--gpus <name>', 'source of GPU evidence').choices(['nvml', 'none']).default('none'))
    .option('--offline', 'use kept collateral only, never the network')
    .option('--cache <folder>', 'where collateral is kept', '.veritrain/collateral')
    .option('--json', 'print one JSON document')
    .action(async (options: PreflightOptions) => {
      const store = new CollateralStore({ directory: options.cache, offline: options.offline === true });
      const at = Math.floor(Date.now() / 1000);
      const report = await preflight(options, readPolicy(options.policy).policy, store, at);
      printResult(options, report, () => preflightText(report));
      if (!report.ok) process.exitCode = 1;
    });
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
