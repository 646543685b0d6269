/** `veritrain up`, what `npm run serve` runs: the embedded system until it is interrupted. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { later } from '../later.js';

export function addUpCommand(command: Command): void {
  command
    .addOption(
      new Option(
        '--profile <name>',
        'embedded: one process of each; distributed: two replicas and nodes on PostgreSQL and NATS',
      )
        .choices(['embedded', 'distributed'])
        .default('embedded'),
    )
    .option('--folder <folder>', 'where everything is written', '.veritrain')
    .option('--port <port>', 'HTTP port of the control plane', port, 4100)
    .option('--provers <n>', 'nodes without a TEE beside the others, at most 3; embedded only', provers, 0)
    .option('--groth16-keys <folder>', 'Groth16 keys of the nodes without a TEE, also of one machine; embedded only')
    .option('--json', 'print one JSON document when ready')
    .action(later(async () => (await import('../system/up.js')).up));
}

function provers(text: string): number {
  if (!/^[0-3]$/.test(text)) throw new InvalidArgumentError('a whole number from 0 to 3');
  return Number(text);
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) throw new InvalidArgumentError('a port from 0 to 65535');
  return value;
}
