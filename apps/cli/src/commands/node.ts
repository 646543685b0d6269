/** `veritrain node list`. */
import type { Command } from 'commander';
import { createApi } from '../api.js';
import { printResult, table, type OutputOptions } from '../output.js';
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
  return node;
}
