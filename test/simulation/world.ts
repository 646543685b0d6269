/** Everything of one simulation: replicas, nodes, clients, chain and wire, and the faults that befall them. */
import { to0x } from '#attestation/base';
import { Dataset, DatasetShard } from '#libs/persistence';
import { chainId, contract } from '#test/made-session';
import { readConfig, type Config } from '../../apps/control-plane/src/core/config/config.js';
import { SimulatedChain } from './chain.js';
import { SimulatedClient } from './client.js';
import { EnclaveNode } from './enclave-node.js';
import { Faults } from './faults.js';
import type { SimulatedNode } from './node.js';
import { ProverNode } from './prover-node.js';
import { Random } from './random.js';
import { Replica, type Plant } from './replica.js';
import { Scheduler } from './scheduler.js';
import type { Store } from './store.js';
import type { Acknowledged, Surroundings } from './surroundings.js';
import { Transport } from './transport.js';
import { datasetRows, makeJob, mix, shard, type SimulatedJob } from './work.js';

export interface WorldSize {
  readonly jobs: number;
  readonly nodes: number;
  readonly replicas: number;
}

const startSeconds = Date.UTC(2026, 0, 1) / 1000;
const tenants = 5;
const providersMax = 4;
/** One of these many nodes has no TEE. */
const nodesPerProver = 4;
/** Jobs that clients have under way at once, for each node. */
const jobsPerNode = 2;
/** Longer than any escrow lasts: a job that is not over by then never will be. */
const drainMilliseconds = 2 * 3_600_000;

export class World implements Surroundings {
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly faults: Faults;
  readonly chain: SimulatedChain;
  readonly transport: Transport;
  readonly jobs = new Map<string, SimulatedJob>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly acknowledged: Acknowledged = {
    ...{ submissions: [], cancellations: [], checkpoints: [], partials: [], proofs: [], deliveries: [] },
  };
  readonly unforeseen: unknown[] = [];
  isOver = false;
  readonly #replicas: Replica[];
  readonly #nodes: SimulatedNode[];
  readonly #clients: SimulatedClient[];
  readonly #providers: readonly string[];
  #underWay = 0;

  constructor(
    readonly store: Store,
    seed: number,
    private readonly size: WorldSize,
    plant: Plant,
  ) {
    this.random = new Random(seed);
    this.faults = new Faults(this.random.fork());
    const { scheduler, faults } = this;
    this.chain = new SimulatedChain(scheduler, this.random.fork(), faults, startSeconds);
    this.transport = new Transport(scheduler, this.random.fork(), faults);
    const config = configuration();
    const providers = Math.max(1, Math.min(providersMax, Math.floor(size.nodes / nodesPerProver)));
    this.#providers = Array.from({ length: providers }, (_, index) => `0x${String(10 + index).repeat(20)}`);
    const { chain, blobs, unforeseen } = this;
    const shared = { scheduler, faults, store, chain, blobs, config, startSeconds, plant, unforeseen };
    const fork = () => this.random.fork();
    this.#replicas = Array.from({ length: size.replicas }, () => new Replica({ ...shared, random: fork() }));
    this.#nodes = Array.from({ length: size.nodes }, (_, index) => this.node(index));
    this.#clients = Array.from({ length: tenants }, (_, index) => new SimulatedClient(this, `tenant-${index}`));
  }

  /** A provider has nodes of both kinds. */
  private node(index: number): SimulatedNode {
    const provider = this.#providers[Math.floor(index / nodesPerProver) % this.#providers.length]!;
    const isProver = index % nodesPerProver === nodesPerProver - 1;
    const offer = { cores: index % 3 === 0 ? 2 : 4, memoryMiB: 1024, version: '1' };
    const name = `simulated-${index}`;
    if (isProver) return new ProverNode(this, name, provider, { ...offer, tee: 'none' });
    return new EnclaveNode(this, name, provider, { ...offer, tee: 'simulated-snp', parallel: true });
  }

  replica(): Replica {
    return this.random.pick(this.#replicas);
  }

  /** Until every job has come to its end, time is up, or something failed that nobody foresaw. */
  async run(): Promise<void> {
    await this.prepare();
    for (const node of this.#nodes) node.start();
    const { scheduler } = this;
    scheduler.spawn(0, () => this.chain.run(() => this.isOver));
    scheduler.spawn(0, () => this.feed());
    scheduler.spawn(0, () => this.harm());
    const goesOn = () => !this.isOver && scheduler.failures.length === 0 && this.unforeseen.length === 0;
    while (goesOn() && (await scheduler.step()));
    if (scheduler.failures.length > 0) throw scheduler.failures[0];
  }

  private async prepare(): Promise<void> {
    const { manager } = this.store;
    for (const { tenant } of this.#clients) {
      const uploadedAt = new Date(1000 * startSeconds);
      for (const row of datasetRows(tenant, uploadedAt)) {
        await manager.insert(Dataset, row as object);
        const { sha256, bytes } = shard!;
        const stored = { datasetId: row.id, index: 0, sha256: to0x(sha256), bytes, uploadedAt };
        await manager.insert(DatasetShard, stored);
      }
    }
  }

  private newJob(random: Random, tenant: string, number: number): SimulatedJob {
    const [kind, provider] = [random.pick(mix), random.pick(this.#providers)];
    return makeJob(random, { tenant, number, at: this.chain.at, kind, provider });
  }

  private async feed(): Promise<void> {
    const { scheduler, size } = this;
    const random = this.random.fork();
    for (let number = 0; number < size.jobs; number += 1) {
      while (this.#underWay >= jobsPerNode * size.nodes) await scheduler.sleep(500);
      const client = this.#clients[number % tenants]!;
      const job = this.newJob(random, client.tenant, number);
      this.jobs.set(job.id, job);
      this.#underWay += 1;
      scheduler.spawn(0, () => client.order(job).finally(() => (this.#underWay -= 1)));
      await scheduler.sleep(random.around(100));
    }
    while (this.#underWay > size.nodes) await scheduler.sleep(1000);
    this.faults.isOver = true;
    const until = scheduler.now + drainMilliseconds;
    while (this.#underWay > 0 && scheduler.now < until) await scheduler.sleep(1000);
    // The last outbox rows go out.
    await scheduler.sleep(60_000);
    this.isOver = true;
  }

  private async harm(): Promise<void> {
    const { scheduler, faults } = this;
    const random = this.random.fork();
    const perNode = 120_000 / this.size.nodes;
    while (!this.isOver) {
      await scheduler.sleep(random.around(perNode));
      if (faults.strikes('node death', 0.4)) random.pick(this.#nodes).kill();
      if (faults.strikes('node pause', 0.4)) random.pick(this.#nodes).stop();
      if (faults.strikes('node drained', 0.1)) {
        const node = random.pick(this.#nodes);
        scheduler.spawn(0, () => node.drain());
      }
      if (faults.strikes('replica death', 0.05)) random.pick(this.#replicas).die();
      if (faults.strikes('clock jump', 0.05)) this.jump(random.pick(this.#replicas), random);
    }
  }

  private jump({ clock }: Replica, random: Random): void {
    clock.skewMilliseconds += random.whole(-90_000, 90_000);
    this.scheduler.later(random.whole(5000, 60_000), () => (clock.skewMilliseconds = 0));
  }
}

function configuration(): Config {
  const rpcUrl = 'http://127.0.0.1:1';
  const chain = { rpcUrl, contract: to0x(contract), chainId, confirmations: 2, startBlock: 0, pollMilliseconds: 1000 };
  return { ...readConfig({ VERITRAIN_HEARTBEAT_SECONDS: '10', VERITRAIN_LOG_LEVEL: 'silent' }), chain };
}
