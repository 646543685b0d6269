/** `veritrain node list|cordon|drain|uncordon|preflight`. */
import { Option, type Command } from 'commander';
import { readPolicy } from '#libs/client';
import { CollateralStore } from '#libs/collateral';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { moreOf, printResult, table, wholeNumber, type OutputOptions, type PageOptions } from '../output.js';
import type { MachineOptions } from '../preflight/collect.js';
import { postedPolicy, postPreflight, type PostOptions } from '../preflight/post.js';
import { preflight, type PreflightReport } from '../preflight/preflight.js';
import { nodeId } from './ids.js';
import { addPostOptions } from './post-options.js';

interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly state: string;
  readonly online: boolean;
  readonly capabilities: { readonly tee: string; readonly cores: number };
}

const steering = {
  cordon: { path: 'cordon', description: 'give a node no new jobs; what it has goes on' },
  drain: {
    path: 'drain',
    description: 'take a node’s jobs back, each at its next checkpoint, and give it no new ones',
  },
  uncordon: { path: 'ready', description: 'give a cordoned or drained node jobs again' },
};

export function addNodeCommands(node: Command): Command {
  addConnectionOptions(node.command('list').description('list the nodes that the control plane knows'))
    .option('--limit <n>', 'at most this many', wholeNumber, 100)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(list);
  for (const [name, { path, description }] of Object.entries(steering)) {
    addConnectionOptions(node.command(name).description(`${description}; for its operator and for administrators`))
      .argument('<id>', 'node id, as in node list', nodeId)
      .action(async (id: string, options: ConnectionOptions) => {
        const view = await apiOf(options).post<NodeView>(`nodes/${encodeURIComponent(id)}/${path}`, {});
        printResult(options, view, () => table([rowOf(view)]));
      });
  }
  addPreflight(node);
  return node;
}

async function list(options: ConnectionOptions & PageOptions): Promise<void> {
  const { limit, cursor } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
  const page = await apiOf(options).get<{ items: NodeView[]; nextCursor: string | null }>(`nodes?${query.toString()}`);
  printResult(options, page, () =>
    page.items.length === 0 ? 'no nodes' : table([...page.items.map(rowOf), ...moreOf(page)]),
  );
}

function rowOf({ id, name, state, online, provider, capabilities }: NodeView): readonly [string, string] {
  const { tee, cores } = capabilities;
  const seen = online ? 'online' : 'offline';
  return [id, `${seen.padEnd(8)} ${state.padEnd(9)} ${name}  ${tee}, ${cores} cores  ${provider}`];
}

interface PreflightOptions extends OutputOptions, MachineOptions, PostOptions {
  readonly policy: string;
  readonly cache: string;
  readonly offline?: boolean;
}

function addPreflight(node: Command): void {
  addPostOptions(node.command('preflight').description('say whether this machine would pass a policy, and what to fix'))
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
      const text = (): string => preflightText(report);
      await postPreflight(options, postedPolicy(report, options.attester === 'simulated'), text);
      printResult(options, report, text);
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
