/**
 * The data owner's key broker: `VERITRAIN_BROKER_CONFIG=FILE node dist/apps/key-broker/src/main.js`; with `--attest-only`,
 * an attestor.
 */
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ConfigurationError, to0x } from '#attestation/base';
import { runService } from '#libs/process';
import { startTracing } from '#libs/telemetry';

import { createAttestorApp, createBrokerApp } from './app.js';
import { accountOf } from './authorise.js';
import { loadAttestorConfig, loadBrokerConfig, type SpeakerConfig } from './config.js';

const help = "The data owner's key broker. With --attest-only it appraises and attests, and holds no key.";

async function start(options: ReadonlySet<string>): Promise<void> {
  const isAttestor = options.has('--attest-only');
  const { config, create } = isAttestor ? await attestor() : await broker();
  await startTracing(isAttestor ? 'attestor' : 'key-broker');
  const app = await create();
  app.enableShutdownHooks();
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as { port: number };
  process.stdout.write(`${JSON.stringify({ ready: true, http: port, account: to0x(accountOf(config)) })}\n`);
}

interface Startable {
  readonly config: SpeakerConfig;
  create(): Promise<NestExpressApplication>;
}

async function broker(): Promise<Startable> {
  const config = await loadBrokerConfig(configPath());
  return { config, create: async () => (await createBrokerApp(config)).app };
}

async function attestor(): Promise<Startable> {
  const config = await loadAttestorConfig(configPath());
  return { config, create: () => createAttestorApp(config) };
}

function configPath(): string {
  const path = process.env.VERITRAIN_BROKER_CONFIG;
  if (path !== undefined && path !== '') return path;
  throw new ConfigurationError('BROKER_CONFIG', {
    expected: 'VERITRAIN_BROKER_CONFIG with the path of the settings',
    got: 'nothing',
    rule: 'key broker settings',
  });
}

runService({ name: 'key-broker', help, options: ['--attest-only'] }, start);
