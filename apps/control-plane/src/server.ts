/** Starts and stops a control plane: database, HTTP, dispatch. */
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule } from '@nestjs/swagger';
import { openDatabase, type Database } from '#libs/persistence';
import { openChainReader } from '#libs/settlement';
import { createMetrics, type Logger } from '#libs/telemetry';
import { listenForNodes } from './api/dispatch/listen.js';
import { configureHttp } from './api/rest/http.js';
import { openApiOf } from './api/rest/openapi.js';
import { AppModule, type Parts } from './app.module.js';
import { ApiKeys } from './core/auth/api-keys.js';
import type { Config } from './core/config/config.js';
import { connectionLimits } from './core/overload/connections.js';
import { Clock, DatabaseClock } from './core/timing/clock.js';
import { Periodic } from './core/timing/periodic.js';
import { PolicyAppraiser } from './evidence/policy-appraiser.js';
import { nestLogger } from './nest-logger.js';
import { noChain } from './settlement/no-chain.js';

export interface ControlPlane {
  readonly app: NestExpressApplication;
  readonly database: Database;
  readonly httpPort: number;
  readonly dispatchPort: number;
  close(): Promise<void>;
}

/** Parts that a test replaces. */
export type Replacements = Partial<Pick<Parts, 'clock' | 'escrowReader' | 'appraiser' | 'schemaFile' | 'connections'>>;

const synchroniseMilliseconds = 10_000;

/** @throws ConfigurationError DATA_DIRECTORY_IN_USE */
export async function startControlPlane(
  config: Config,
  logger: Logger,
  replaced: Replacements = {},
): Promise<ControlPlane> {
  const database = await openDatabase(
    config.databaseUrl === null
      ? { kind: 'embedded', dataDirectory: config.dataDirectory, cacheDirectory: config.cacheDirectory }
      : { kind: 'server', url: config.databaseUrl, poolSize: config.databasePool },
  );
  try {
    if (config.databaseUrl === null) return await listen(config, logger, database, replaced);
    const clock = await DatabaseClock.of(database.dataSource);
    const watch = new Periodic('database clock', synchroniseMilliseconds, () => clock.synchronise(), logger);
    const controlPlane = await listen(config, logger, database, { clock, ...replaced });
    watch.start();
    return { ...controlPlane, close: () => watch.stop().then(() => controlPlane.close()) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The application without listening, for its documents. */
export async function createApplication(
  config: Config,
  logger: Logger,
  database: Pick<Database, 'dataSource'>,
  replaced: Replacements,
): Promise<NestExpressApplication> {
  const metrics = createMetrics();
  const parts: Parts = {
    config,
    logger,
    metrics,
    dataSource: database.dataSource,
    clock: new Clock(),
    escrowReader: config.chain === null ? noChain : openChainReader(config.chain),
    appraiser: new PolicyAppraiser(),
    connections: connectionLimits,
    schemaFile: true,
    ...replaced,
  };
  const app = await NestFactory.create<NestExpressApplication>(AppModule.of(parts), {
    bodyParser: false,
    logger: nestLogger(logger),
    abortOnError: false,
    forceCloseConnections: true,
  });
  configureHttp(app, parts);
  return app;
}

async function listen(
  config: Config,
  logger: Logger,
  database: Database,
  replaced: Replacements,
): Promise<ControlPlane> {
  const app = await createApplication(config, logger, database, replaced);
  SwaggerModule.setup('docs', app, () => openApiOf(app), { jsonDocumentUrl: 'openapi.json' });
  await app.get(ApiKeys).bootstrap();
  const dispatchPort = await listenForNodes(app, config.dispatch);
  await app.listen(config.http.port, config.http.host);
  return {
    app,
    database,
    httpPort: (app.getHttpServer().address() as AddressInfo).port,
    dispatchPort,
    close: async () => {
      await app.close();
      await database.close();
    },
  };
}
