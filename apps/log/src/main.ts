/**
 * A transparency log: `VERITRAIN_LOG_CONFIG=FILE node dist/apps/log/src/main.js`; with `--recover`, rebuilds the
 * database's rows from the tiles and ends.
 */
import { CodedError, ConfigurationError } from '#attestation/base';
import { noteKeyText } from '#attestation/log';
import { openLogDatabase, recoverLog } from '#libs/log';
import { createLogApp } from './app.js';
import { loadSettings, type LogSettings } from './settings.js';

async function start(): Promise<void> {
  const [option, ...more] = process.argv.slice(2);
  if ((option !== undefined && option !== '--recover') || more.length > 0) throw unknown('--recover, or nothing');
  const path = process.env.VERITRAIN_LOG_CONFIG;
  if (path === undefined || path === '') throw unknown('VERITRAIN_LOG_CONFIG with the path of the settings');
  const settings = loadSettings(path);
  if (option === '--recover') return recover(settings);
  const app = await createLogApp(settings);
  app.enableShutdownHooks();
  await app.listen(settings.port, settings.host);
  const { port } = app.getHttpServer().address() as { port: number };
  print({ ready: true, http: port, log: noteKeyText(settings.key) });
}

async function recover(settings: LogSettings): Promise<void> {
  const database = await openLogDatabase(settings.database);
  try {
    const rows = await recoverLog({ ...settings, database, store: settings.files });
    print({ recovered: rows });
  } finally {
    await database.close();
  }
}

function print(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document)}\n`);
}

function unknown(expected: string): ConfigurationError {
  return new ConfigurationError('LOG_CONFIG', { expected, got: 'something else', rule: 'apps/log/README.md' });
}

start().catch((error: unknown) => {
  process.stderr.write(`${error instanceof CodedError ? JSON.stringify(error.toJSON()) : String(error)}\n`);
  process.exitCode = 1;
});
