/** A witness of transparency logs: `VERITRAIN_WITNESS_CONFIG=FILE node dist/apps/witness/src/main.js`. */
import { ConfigurationError } from '#attestation/base';
import { noteKeyText } from '#attestation/log';
import { lockDirectory, runService } from '#libs/process';
import { createLogger } from '#libs/telemetry';
import { createWitnessServer } from './server.js';
import { loadSettings } from './settings.js';
import { Witness } from './witness.js';

async function start(): Promise<void> {
  const path = process.env.VERITRAIN_WITNESS_CONFIG;
  if (path === undefined || path === '') {
    const expected = 'VERITRAIN_WITNESS_CONFIG with the path of the settings';
    throw new ConfigurationError('WITNESS_CONFIG', { expected, got: 'nothing', rule: 'apps/witness/README.md' });
  }
  const settings = loadSettings(path);
  const lock = lockDirectory(settings.state);
  const witness = new Witness({ ...settings, now: () => Math.floor(Date.now() / 1000) });
  const server = createWitnessServer(witness, createLogger('witness', settings.logLevel));
  const stop = (): void =>
    void server.close(() => {
      lock.release();
      process.exit(0);
    });
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  await new Promise<void>((resolve) => server.listen(settings.port, settings.host, resolve));
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ ready: true, http: port, witness: noteKeyText(settings.key) })}\n`);
}

runService({ name: 'witness', help: 'A witness of transparency logs.' }, start);
