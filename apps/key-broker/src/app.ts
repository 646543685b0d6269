/** The key broker, or an attestor, as an HTTP application, not yet listening. */
import 'reflect-metadata';
import { Module, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { closeWithinGrace, within } from '#libs/process';
import { now } from './answers.js';
import { AttestorController } from './attestor.controller.js';
import { createAttestor } from './attestor.js';
import { BrokerController } from './broker.controller.js';
import type { AttestorConfig, BrokerConfig } from './config.js';
import { configureHttp } from './http.js';
import { ATTESTOR, BROKER, createParts, PARTS, type Parts } from './parts.js';
import { ProblemFilter } from './problem.filter.js';
import { ProverController } from './prover.controller.js';
import { createBroker, type Broker } from './release.js';
import { ResultsController } from './results.controller.js';
import { SharedController } from './shared.controller.js';

@Module({})
class BrokerModule {}

const sweepEveryMs = 3_600_000;
const endsEveryMs = 60_000;
const headEveryMs = 86_400_000;
/** A stop does not wait longer for the log. */
const lastHeadWithinMs = 5000;

export interface BrokerApp {
  readonly app: NestExpressApplication;
  readonly broker: Broker;
}

/** @throws ConfigurationError BROKER_CONFIG, BROKER_JOURNAL_CUT */
export async function createBrokerApp(config: BrokerConfig): Promise<BrokerApp> {
  const parts = await createParts(config);
  const broker = createBroker(parts);
  const own = [BrokerController, ProverController];
  return { app: await createApp(parts, own, { provide: BROKER, useValue: broker }), broker };
}

/** @throws ConfigurationError BROKER_CONFIG, BROKER_JOURNAL_CUT */
export async function createAttestorApp(config: AttestorConfig): Promise<NestExpressApplication> {
  const parts = await createParts(config);
  return createApp(parts, [AttestorController], { provide: ATTESTOR, useValue: createAttestor(parts) });
}

async function createApp(parts: Parts, own: readonly Type[], speaker: Provider): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    {
      module: BrokerModule,
      controllers: [SharedController, ResultsController, ...own],
      providers: [
        { provide: PARTS, useValue: parts },
        speaker,
        { provide: Sweeper, useValue: new Sweeper(parts) },
        { provide: HeadKeeper, useValue: new HeadKeeper(parts) },
      ],
    },
    { logger: ['error', 'warn'], bodyParser: false },
  );
  closeWithinGrace(app.getHttpServer());
  configureHttp(app, parts.config, parts.metrics);
  app.useGlobalFilters(new ProblemFilter(parts.logger));
  return app;
}

/** Forgets results that were kept for long enough. */
class Sweeper {
  readonly #timer: NodeJS.Timeout;

  constructor({ results, logger }: Parts) {
    const sweep = (): void =>
      void results.sweep(now()).catch((error: unknown) => logger.warn('results', { why: String(error) }));
    this.#timer = setInterval(sweep, sweepEveryMs).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }
}

/** Holds the journal against the log at the start, and logs its head daily and at the stop. */
class HeadKeeper {
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { heads } = parts;
    this.#timers = [
      setInterval(() => void this.#try(() => heads.logEnds(now())), endsEveryMs).unref(),
      setInterval(() => void this.#try(() => heads.logHead(now())), headEveryMs).unref(),
    ];
    void this.#try(() => heads.compare(now()));
  }

  async onApplicationShutdown(): Promise<void> {
    this.#timers.forEach((timer) => clearInterval(timer));
    await within(
      lastHeadWithinMs,
      this.#try(() => this.#parts.heads.logHead(now())),
    );
  }

  /** What fails is tried again at its next time. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.logger.warn('journal and log', { why: error instanceof Error ? error.message : String(error) });
    }
  }
}
