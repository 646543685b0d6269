/** A log as an HTTP application, not yet listening. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { entryBytesMax } from '#attestation/log';
import { Lease, LogService, openLogDatabase } from '#libs/log';
import { closeWithinGrace, lockDirectory } from '#libs/process';
import { createLogger } from '#libs/telemetry';
import type { Anchors } from './anchors.js';
import { EntriesController } from './entries.controller.js';
import { LOG, STORE } from './parts.js';
import { ProblemFilter } from './problem.filter.js';
import { ReadsController } from './reads.controller.js';
import type { LogSettings } from './settings.js';

@Module({})
class LogModule {}

/** @throws ConfigurationError LOG_BEHIND, LOG_FORK, DATA_DIRECTORY_IN_USE */
export async function createLogApp(settings: LogSettings): Promise<NestExpressApplication> {
  const logger = createLogger('log', settings.logLevel);
  const store = settings.files;
  // PGlite lets a second process in.
  const lock = 'directory' in settings.database ? lockDirectory(settings.database.directory) : null;
  const database = await openLogDatabase(settings.database);
  const onFailure = (code: string, why: string): void => logger.warn(code, { why });
  const log = new LogService({
    ...{ database, store, key: settings.key, sign: settings.sign, issuers: settings.issuers, policy: settings.policy },
    ...{ intervalMs: settings.intervalMs, now: () => Math.floor(Date.now() / 1000) },
    onFailure,
  });
  let anchors: Anchors | null = null;
  const close = async (): Promise<void> => {
    await anchors?.stop();
    await log.stop();
    await database.close();
    lock?.release();
  };
  try {
    await log.start();
    if (settings.anchors !== null) {
      // Who anchors nothing loads nothing of a chain.
      const { Anchors: OnChain } = await import('./anchors.js');
      const lease = new Lease(database, settings.key.name);
      anchors = new OnChain(settings.anchors, { log, policy: settings.policy, lease, onFailure });
      anchors.start();
    }
  } catch (error) {
    await close();
    throw error;
  }
  const app = await NestFactory.create<NestExpressApplication>(
    {
      module: LogModule,
      controllers: [ReadsController, EntriesController],
      providers: [
        { provide: LOG, useValue: log },
        { provide: STORE, useValue: store },
        { provide: Symbol('end'), useValue: { onApplicationShutdown: close } },
      ],
    },
    { logger: ['error', 'warn'], bodyParser: false },
  );
  closeWithinGrace(app.getHttpServer());
  app.disable('x-powered-by');
  app.useBodyParser('raw', { limit: entryBytesMax, type: () => true });
  app.useGlobalFilters(new ProblemFilter(logger));
  return app;
}
