/** `veritrain up`, what `npm run serve` runs: the embedded system until it is interrupted. */
import { join, resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { loadProfile } from '#libs/client/api';
import { writeWhole } from '#libs/client/files';
import { canonicalManifest } from '#libs/step';
import { mnistManifest } from '../demo/mnist.js';
import { startDistributed } from '../system/distributed.js';
import { startEmbedded } from '../system/embedded.js';

interface UpOptions extends OutputOptions {
  readonly profile: 'embedded' | 'distributed';
  readonly folder: string;
  readonly port: number;
  readonly provers: number;
  readonly groth16Keys?: string;
}

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
    .action((options: UpOptions) => up(options));
}

async function up(options: UpOptions): Promise<void> {
  const folder = resolve(options.folder);
  let isStopping = false;
  const stopped = new Promise<void>((end) => {
    // Whoever signals a whole group reaches it more than once: a second signal must not end it before it has stopped.
    const stop = (signal: NodeJS.Signals): void => {
      if (!isStopping) log(`${signal}: stopping`);
      isStopping = true;
      end();
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  });
  const start = options.profile === 'distributed' ? startDistributed : startEmbedded;
  const system = await start({
    folder: join(folder, 'up'),
    vendorFile: join(folder, 'simulated-vendor.json'),
    httpPort: options.port,
    log: true,
    onPhase: log,
    groth16Keys: options.groth16Keys && resolve(options.groth16Keys),
    provers: Array.from({ length: options.provers }, () => ({ threads: 1 })),
  });
  try {
    writeWhole(join(folder, 'example-manifest.json'), canonicalManifest(mnistManifest()));
    const ready = { ready: true, ...system.urls, profile: system.profileFile };
    printResult(options, ready, () =>
      table([
        ...Object.entries(system.urls),
        ['sign in', `with the client’s test key ${loadProfile(system.profileFile).controlPlane.apiKey}`],
        ['other keys', join(folder, 'up', 'api-keys.test.json')],
        ['profile', system.profileFile],
        ['hardware', 'SIMULATED'],
        ...(system.logPolicy !== null
          ? [['log policy', `${system.logPolicy}: log and witness are this system’s own, 0 independent`] as const]
          : []),
        ['use it', `VERITRAIN_PROFILE=${system.profileFile} npx veritrain node list`],
        ['stop it', 'Ctrl-C'],
      ]),
    );
    // Ctrl-C of a terminal reaches every process of it at once: then none ended by itself.
    const ended = system.ended.then((name) => {
      if (!isStopping) log(`${name} ended; read its log in ${folder}/up/logs`);
    });
    await Promise.race([stopped, ended]);
  } finally {
    await system.stop();
    log('stopped');
  }
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
