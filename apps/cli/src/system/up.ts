/** The embedded or distributed system until it is interrupted. */
import { join, resolve } from 'node:path';
import { loadProfile } from '#libs/client/api';
import { writeWhole } from '#libs/client/files';
import { canonicalManifest } from '#libs/step';
import { mnistManifest } from '../demo/mnist.js';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { startDistributed } from './distributed.js';
import { startEmbedded } from './embedded.js';

interface UpOptions extends OutputOptions {
  readonly profile: 'embedded' | 'distributed';
  readonly folder: string;
  readonly port: number;
  readonly provers: number;
  readonly groth16Keys?: string;
}

export async function up(options: UpOptions): Promise<void> {
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
