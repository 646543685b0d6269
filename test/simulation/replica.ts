/** One control plane replica: the real services over a database that it shares, a clock that jumps, and its death. */
import { Readable } from 'node:stream';
import { DataSource } from 'typeorm';
import type { ChainReader } from '#libs/settlement';
import { createLogger, createMetrics } from '#libs/telemetry';
import { Sweeper } from '../../apps/control-plane/src/claims/sweeper.js';
import { WaitingNodes, type Query } from '../../apps/control-plane/src/claims/waiting-nodes.js';
import type { Config } from '../../apps/control-plane/src/core/config/config.js';
import {
  CONFIG,
  ESCROW_READER,
  EVIDENCE_APPRAISER,
  LOGGER,
  METRICS,
  PROOF_VERIFIER,
} from '../../apps/control-plane/src/core/config/tokens.js';
import { OutboxRelay } from '../../apps/control-plane/src/core/events/outbox-relay.js';
import { BlobStore } from '../../apps/control-plane/src/core/objects/blob-store.js';
import { Batches, type BatchLimits, type Round } from '../../apps/control-plane/src/core/timing/batches.js';
import { Clock } from '../../apps/control-plane/src/core/timing/clock.js';
import { Signals } from '../../apps/control-plane/src/core/timing/signals.js';
import type { EvidenceAppraiser, EvidenceVerdict } from '../../apps/control-plane/src/evidence/evidence-appraiser.js';
import { JobQueue } from '../../apps/control-plane/src/jobs/job-queue.js';
import { EscrowWatcher } from '../../apps/control-plane/src/settlement/watcher.js';
import { receiptKey, sha256 } from '#test/made-session';
import { Container } from './container.js';
import type { Faults } from './faults.js';
import type { Turns } from './memory/transaction.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';
import { verifyProof } from './statements.js';
import type { Store } from './store.js';
import { answerOf, type Answer } from './transport.js';

/** Services that a planted fault replaces: class, and what stands in for it. */
export type Plant = (container: Container) => readonly (readonly [token: unknown, value: unknown])[];

interface ReplicaParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: Faults;
  readonly store: Store;
  readonly chain: ChainReader;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly config: Config;
  readonly startSeconds: number;
  readonly plant: Plant;
  /** Failures that the control plane did not foresee. */
  readonly unforeseen: unknown[];
}

/** What a replica's clock may be behind by: two jumps at once. */
export const clockSeconds = 180;

const statementMilliseconds = 1;
const [sweepMilliseconds, publishMilliseconds, pollMilliseconds] = [4000, 2000, 3000];
/** The registry of prom-client collects from the process: one for all replicas. */
const metrics = createMetrics();
const logger = createLogger('simulation', 'silent');

class SkewedClock extends Clock {
  skewMilliseconds = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly startSeconds: number,
  ) {
    super();
  }

  override now(): Date {
    return new Date(1000 * this.startSeconds + this.scheduler.now + this.skewMilliseconds);
  }

  override monotonic(): number {
    return this.scheduler.now + 1;
  }
}

/** Claims of a session that is not accepted. */
export const refusedClaims = 'refused';

/** Accepts every session but one that claims `refusedClaims`, under a policy that it does not read: simulated sessions only. */
class SimulatedAppraiser implements EvidenceAppraiser {
  policyDigest(policy: Uint8Array): Uint8Array {
    return sha256(policy);
  }

  appraise({ evidence }: { evidence: Uint8Array }): Promise<EvidenceVerdict> {
    const isRefused = Buffer.from(evidence).includes(refusedClaims);
    const check = {
      code: 'SIMULATED_POLICY',
      status: isRefused ? 'refused' : 'met',
      got: 'simulated',
      rule: 'simulation',
    };
    const tier = isRefused ? 'contraindicated' : 'affirming';
    return Promise.resolve({ tier, checks: [check], receiptKey: isRefused ? null : receiptKey, devices: [] });
  }
}

/** Tasks of the simulation take turns at the scheduler's word: nobody waits here. */
class OpenWaitingNodes extends WaitingNodes {
  override async wait<A, T>(_kind: string, asker: A, _wait: number, _gone: AbortSignal, look: Query<A, T>) {
    return (await look([asker]))[0]!;
  }
}

/** For the same reason nobody's work is done by another's task. */
class SingleBatches extends Batches {
  override make<I, O>(_limits: BatchLimits, round: Round<I, O>): (item: I) => Promise<O> {
    return async (item) => {
      const [outcome] = await round([item]);
      if ('error' in outcome!) throw outcome.error;
      return outcome!.value;
    };
  }
}

export class Replica {
  #container: Container | null = null;
  #life = 0;
  readonly clock: SkewedClock;

  constructor(private readonly parts: ReplicaParts) {
    this.clock = new SkewedClock(parts.scheduler, parts.startSeconds);
    this.start();
  }

  /** Answers a request; null when this process died before it could. */
  async serve<T>(handle: (services: Container) => Promise<T>): Promise<{ answer: Answer<T> } | null> {
    const container = this.#container;
    const life = this.#life;
    if (container === null) return null;
    const { answer, thrown } = await answerOf(() => handle(container));
    if (this.#life !== life) return null;
    if (answer.kind === 'problem' && answer.code === 'INTERNAL') this.parts.unforeseen.push(thrown);
    return { answer };
  }

  /** Everything that runs here breaks off where it is; another process starts a little later. */
  die(): void {
    const { scheduler, random } = this.parts;
    this.#life += 1;
    this.#container = null;
    this.clock.skewMilliseconds = 0;
    scheduler.later(random.around(5000), () => this.start());
  }

  private start(): void {
    const { store, config, chain, blobs } = this.parts;
    const life = this.#life;
    const given: (readonly [unknown, unknown])[] = [
      [CONFIG, config],
      [DataSource, store.open(this.turns(life))],
      [LOGGER, logger],
      [METRICS, metrics],
      [Clock, this.clock],
      [WaitingNodes, new OpenWaitingNodes(new Signals())],
      [Batches, new SingleBatches()],
      [ESCROW_READER, chain],
      [EVIDENCE_APPRAISER, new SimulatedAppraiser()],
      [PROOF_VERIFIER, verifyProof],
      [BlobStore, { open: async (name: string) => Readable.from([blobs.get(name)!]) }],
      ...(store.queue === null ? [] : [[JobQueue, store.queue] as const]),
    ];
    const container = new Container([...given, ...this.parts.plant(new Container(given))]);
    this.#container = container;
    this.repeat(life, sweepMilliseconds, () => container.get(Sweeper).sweep());
    this.repeat(life, publishMilliseconds, () => container.get(OutboxRelay).publish());
    this.repeat(life, pollMilliseconds, () => container.get(EscrowWatcher).poll());
  }

  private repeat(life: number, milliseconds: number, work: () => Promise<void>): void {
    const { scheduler, random } = this.parts;
    scheduler.spawn(random.fraction() * milliseconds, async () => {
      while (this.#life === life) {
        const { answer, thrown } = await answerOf(work);
        if (this.#life === life && answer.kind === 'problem' && answer.code === 'INTERNAL')
          this.parts.unforeseen.push(thrown);
        await scheduler.sleep(milliseconds * (0.75 + random.fraction() / 2));
      }
    });
  }

  private turns(life: number): Turns {
    const { scheduler, random, faults } = this.parts;
    const check = (): void => {
      if (this.#life !== life) throw connectionBroken();
      if (faults.strikes('statement failed', 0.0003)) throw connectionBroken();
    };
    return {
      check,
      statement: async () => {
        const isStalled = faults.strikes('statement stalled', 0.0001);
        await scheduler.sleep(isStalled ? random.fraction() * 60_000 : random.around(statementMilliseconds));
        check();
      },
      block: (register) => scheduler.suspend((resume) => register(() => resume())),
      committed: async () => {
        if (faults.strikes('commit unknown', 0.001)) throw connectionBroken();
      },
    };
  }
}

function connectionBroken(): Error {
  return Object.assign(new Error('connection terminated unexpectedly'), { code: 'ECONNRESET' });
}
