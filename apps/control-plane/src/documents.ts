/** The interfaces as the code defines them, as text. */
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { printSchema } from 'graphql';
import { openDatabase } from '#libs/persistence';
import { createLogger } from '#libs/telemetry';
import { readConfig } from './config.js';
import { openApiOf } from './openapi.js';
import { createApplication } from './server.js';

/** @param dataDirectory  scratch; nothing is kept in it */
export async function describeInterfaces(dataDirectory: string): Promise<{ openapi: string; graphql: string }> {
  const config = readConfig({ VERITRAIN_DATA_DIR: dataDirectory, VERITRAIN_LOG_LEVEL: 'silent' });
  const { cacheDirectory } = config;
  const database = await openDatabase({ kind: 'embedded', dataDirectory, cacheDirectory });
  try {
    const app = await createApplication(config, createLogger('documents', 'silent'), database, {});
    await app.init();
    const openapi = `${JSON.stringify(openApiOf(app), null, 2)}\n`;
    const graphql = `${printSchema(app.get(GraphQLSchemaHost).schema)}\n`;
    await app.close();
    return { openapi, graphql };
  } finally {
    await database.close();
  }
}
