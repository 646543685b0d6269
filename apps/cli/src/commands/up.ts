/** `veritrain up`, what `npm run serve` runs: the embedded system until it is interrupted. */
import { join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { writeWhole } from '../files.js';
import { canonicalManifest } from '#libs/step';
import { mnistManifest } from '../demo/mnist.js';
import { startEmbedded } from '../system/embedded.js';

interface UpOptions extends OutputOptions {
  readonly folder: string;
  readonly port: number;
}

export function addUpCommand(program: Command): void {
  program
    .command('up')
    .description('run control plane, key broker, one simulated-TEE node and a local chain until interrupted')
    .option('--folder <folder>', 'where everything is written', '.veritrain')
    .option('--port <port>', 'HTTP port of the control plane', port, 4100)
    .option('--json', 'print one JSON document when ready')
    .action((options: UpOptions) => up(options));
}

async function up(options: UpOptions): Promise<void> {
  const folder = resolve(options.folder);
  const stopped = new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end());
  });
  const system = await startEmbedded({
    folder: join(folder, 'up'),
    vendorFile: join(folder, 'simulated-vendor.json'),
    httpPort: options.port,
    onPhase: log,
  });
  try {
    writeWhole(join(folder, 'example-manifest.json'), canonicalManifest(mnistManifest()));
    const ready = { ready: true, ...system.urls, profile: system.profileFile };
    printResult(options, ready, () =>
      table([
        ...Object.entries(system.urls),
        ['profile', system.profileFile],
        ['hardware', 'SIMULATED'],
        ['use it', `VERITRAIN_PROFILE=${system.profileFile} npx veritrain node list`],
        ['stop it', 'Ctrl-C'],
      ]),
    );
    await Promise.race([stopped, system.ended.then((name) => log(`${name} ended; read its log in ${folder}/up/logs`))]);
  } finally {
    await system.stop();
  }
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) throw new InvalidArgumentError('a port from 0 to 65535');
  return value;
}
