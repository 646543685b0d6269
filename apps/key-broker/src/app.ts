/** The key broker as an HTTP application, not yet listening. */
import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createAppraiser } from './appraiser.js';
import { ciphertextBytesMax } from './availability.js';
import { BROKER, BrokerController, CONFIG, NONCES, SESSIONS } from './broker.controller.js';
import type { BrokerConfig } from './config.js';
import { createNonceBook } from './nonces.js';
import { ProblemFilter } from './problem.filter.js';
import { ProverController } from './prover.controller.js';
import { createBroker, type Broker } from './release.js';
import { openSessionBook } from './sessions.js';

@Module({})
class BrokerModule {}

const availabilityBytesMax = Math.ceil(ciphertextBytesMax / 3) * 4 + 64 * 1024;

/** The one route whose body is larger than the rest's. */
function isAvailability({ url, headers }: IncomingMessage): boolean {
  return url === '/v1/availability' && headers['content-type']?.startsWith('application/json') === true;
}

export interface BrokerApp {
  readonly app: NestExpressApplication;
  readonly broker: Broker;
}

export async function createBrokerApp(config: BrokerConfig): Promise<BrokerApp> {
  const nonces = createNonceBook();
  const appraiser = await createAppraiser(config);
  const sessions = openSessionBook(config);
  const broker = createBroker({ config, nonces, appraiser, sessions });
  const app = await NestFactory.create<NestExpressApplication>(
    {
      module: BrokerModule,
      controllers: [BrokerController, ProverController],
      providers: [
        { provide: BROKER, useValue: broker },
        { provide: NONCES, useValue: nonces },
        { provide: CONFIG, useValue: config },
        { provide: SESSIONS, useValue: sessions },
      ],
    },
    { logger: ['error', 'warn'], bodyParser: false },
  );
  app.useBodyParser('json', { limit: availabilityBytesMax, type: isAvailability });
  app.useBodyParser('json', { limit: '2mb' });
  app.useGlobalFilters(new ProblemFilter());
  return { app, broker };
}
