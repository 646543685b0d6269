/** The interfaces as the code defines them, as text. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '#libs/persistence';
import { createLogger } from '#libs/telemetry';
import { openApiOf } from './api/rest/openapi.js';
import { readConfig } from './core/config/config.js';
import { createApplication } from './server.js';

/** @param dataDirectory  scratch; nothing is kept in it */
export async function describeInterfaces(dataDirectory: string): Promise<{ openapi: string; graphql: string }> {
  const config = readConfig({ VERITRAIN_DATA_DIR: dataDirectory, VERITRAIN_LOG_LEVEL: 'silent' });
  const { cacheDirectory } = config;
  const database = await openDatabase({ kind: 'embedded', dataDirectory, cacheDirectory });
  try {
    const schemaFile = join(dataDirectory, 'schema.graphql');
    const app = await createApplication(config, createLogger('documents', 'silent'), database, { schemaFile });
    await app.init();
    const openapi = `${JSON.stringify(sorted(openApiOf(app)), null, 2)}\n`;
    const graphql = readFileSync(schemaFile, 'utf8');
    await app.close();
    return { openapi, graphql };
  } finally {
    await database.close();
  }
}

/** Members in the order of their names: the order in which decorators ran is nobody's business. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sorted(item)]));
}
