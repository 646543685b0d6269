/**
 * A transparency log: `VERITRAIN_LOG_CONFIG=FILE node dist/apps/log/src/main.js`; with `--recover`, rebuilds the
 * database's rows from the tiles and ends.
 */
import { ConfigurationError } from '#attestation/base';
import { noteKeyText } from '#attestation/log';
import { openLogDatabase, recoverLog, Witnesses } from '#libs/log';
import { runService } from '#libs/process';
import { createLogApp } from './app.js';
import { loadSettings, type LogSettings } from './settings.js';

const help = "A transparency log. With --recover it rebuilds the database's rows from the tiles, and ends.";

async function start(options: ReadonlySet<string>): Promise<void> {
  const path = process.env.VERITRAIN_LOG_CONFIG;
  if (path === undefined || path === '') {
    const expected = 'VERITRAIN_LOG_CONFIG with the path of the settings';
    throw new ConfigurationError('LOG_CONFIG', { expected, got: 'nothing', rule: 'apps/log/README.md' });
  }
  const settings = loadSettings(path);
  if (options.has('--recover')) return recover(settings);
  const app = await createLogApp(settings);
  app.enableShutdownHooks();
  await app.listen(settings.port, settings.host);
  const { port } = app.getHttpServer().address() as { port: number };
  print({ ready: true, http: port, log: noteKeyText(settings.key) });
}

async function recover(settings: LogSettings): Promise<void> {
  const database = await openLogDatabase(settings.database);
  try {
    const silent: string[] = [];
    const seen = await new Witnesses(settings.policy).latest(settings.key, (witness) => silent.push(witness));
    const rows = await recoverLog({ ...settings, database, store: settings.files }, seen);
    print({ recovered: rows, silentWitnesses: silent });
  } finally {
    await database.close();
  }
}

function print(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document)}\n`);
}

runService({ name: 'log', help, options: ['--recover'] }, start);
