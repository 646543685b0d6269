/** Starts and stops a control plane: database, HTTP, dispatch. */
import 'reflect-metadata';
import type { AddressInfo, Server } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule } from '@nestjs/swagger';
import { limits } from '#libs/messaging';
import { openDatabase, type Database } from '#libs/persistence';
import { createMetrics, type Logger } from '#libs/telemetry';
import { AppModule, type Parts } from './app.module.js';
import { ApiKeys } from './auth/api-keys.js';
import { Clock } from './clock.js';
import type { Config } from './config.js';
import { PolicyAppraiser } from './evidence/policy-appraiser.js';
import { configureHttp } from './http.js';
import { nestLogger } from './nest-logger.js';
import { openApiOf } from './openapi.js';
import { noChain } from './settlement/no-chain.js';
import { RpcEscrowReader } from './settlement/rpc-escrow-reader.js';

export interface ControlPlane {
  readonly app: NestExpressApplication;
  readonly database: Database;
  readonly httpPort: number;
  readonly dispatchPort: number;
  close(): Promise<void>;
}

/** Parts that a test replaces. */
export type Replacements = Partial<Pick<Parts, 'clock' | 'escrowReader' | 'appraiser' | 'schemaFile'>>;

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
    return await listen(config, logger, database, replaced);
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
    escrowReader: config.chain === null ? noChain : new RpcEscrowReader(config.chain),
    appraiser: new PolicyAppraiser(),
    schemaFile: true,
    ...replaced,
  };
  const app = await NestFactory.create<NestExpressApplication>(AppModule.of(parts), {
    bodyParser: false,
    rawBody: true,
    logger: nestLogger(logger),
    abortOnError: false,
    forceCloseConnections: true,
  });
  configureHttp(app, logger, metrics);
  return app;
}

async function listen(
  config: Config,
  logger: Logger,
  database: Database,
  replaced: Replacements,
): Promise<ControlPlane> {
  const app = await createApplication(config, logger, database, replaced);
  const dispatch = app.connectMicroservice<MicroserviceOptions>(
    {
      transport: Transport.TCP,
      options: {
        ...config.dispatch,
        maxBufferSize: limits.frameCharactersMax,
        maxSendBufferSize: limits.frameCharactersMax,
      },
    },
    { inheritAppConfig: true },
  );
  SwaggerModule.setup('docs', app, () => openApiOf(app), { jsonDocumentUrl: 'openapi.json' });
  await app.get(ApiKeys).bootstrap();
  await app.startAllMicroservices();
  await app.listen(config.http.port, config.http.host);
  return {
    app,
    database,
    httpPort: (app.getHttpServer().address() as AddressInfo).port,
    dispatchPort: (dispatch.unwrap<Server>().address() as AddressInfo).port,
    close: async () => {
      await app.close();
      await database.close();
    },
  };
}
