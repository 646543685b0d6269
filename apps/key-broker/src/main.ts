/** The data owner's key broker: `VERITRAIN_BROKER_CONFIG=FILE node dist/apps/key-broker/src/main.js`. */
import { CodedError, ConfigurationError, toHex } from '#attestation';
import { startTracing } from '#libs/telemetry';
import { createBrokerApp } from './app.js';
import { loadConfig } from './config.js';

async function start(): Promise<void> {
  const config = loadConfig(configPath());
  await startTracing('key-broker');
  const { app, broker } = await createBrokerApp(config);
  app.enableShutdownHooks();
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as { port: number };
  process.stdout.write(`${JSON.stringify({ ready: true, http: port, account: `0x${toHex(broker.account)}` })}\n`);
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

start().catch((error: unknown) => {
  process.stderr.write(`${error instanceof CodedError ? JSON.stringify(error.toJSON()) : String(error)}\n`);
  process.exitCode = 1;
});
