/** The data owner's key broker: `VERITRAIN_BROKER_CONFIG=FILE node dist/apps/key-broker/src/main.js`. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { CodedError, ConfigurationError, toHex } from '#attestation';
import { createAppraiser } from './appraiser.js';
import { BROKER, BrokerController, CONFIG, NONCES } from './broker.controller.js';
import { loadConfig } from './config.js';
import { createNonceBook } from './nonces.js';
import { ProblemFilter } from './problem.filter.js';
import { createBroker } from './release.js';

@Module({})
class BrokerModule {}

async function start(): Promise<void> {
  const config = loadConfig(configPath());
  const nonces = createNonceBook();
  const broker = createBroker(config, nonces, await createAppraiser(config));
  const app = await NestFactory.create<NestExpressApplication>(
    {
      module: BrokerModule,
      controllers: [BrokerController],
      providers: [
        { provide: BROKER, useValue: broker },
        { provide: NONCES, useValue: nonces },
        { provide: CONFIG, useValue: config },
      ],
    },
    { logger: ['error', 'warn'], bodyParser: false },
  );
  app.useBodyParser('json', { limit: '2mb' });
  app.useGlobalFilters(new ProblemFilter());
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
