/** `veritrain node list|cordon|drain|uncordon|preflight`. */
import { Option, type Command } from 'commander';
import { later } from '../later.js';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';
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
    .action(later(async () => (await import('../preflight/command.js')).preflightHere));
}
