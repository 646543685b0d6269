/**
 * A simulated node: takes jobs under leases, trains, checkpoints, delivers and commits as host agents and provers do,
 * repeats what was not acknowledged, keeps its delivery on disk, and is killed or stopped at any moment. A stopped node
 * does not notice: it goes on with the lease that it had.
 */
import { to0x } from '#attestation/base';
import type { StepStatement } from '#attestation/records';
import { BlobRecord } from '#libs/persistence';
import { protocolVersion, type LeaseGrant, type NodeCapabilities, type SignedStatement } from '#libs/wire';
import { weights } from '#test/made-session';
import { Assignment } from '../../apps/control-plane/src/claims/assignment.js';
import { Heartbeats } from '../../apps/control-plane/src/claims/heartbeats.js';
import type { Principal } from '../../apps/control-plane/src/core/auth/principal.js';
import { Nodes } from '../../apps/control-plane/src/nodes/nodes.service.js';
import { Presences } from '../../apps/control-plane/src/nodes/presences.js';
import { SessionReports } from '../../apps/control-plane/src/reports/session-reports.js';
import { TrainingReports } from '../../apps/control-plane/src/reports/training-reports.js';
import type { Container } from './container.js';
import type { Random } from './random.js';
import { segmentOf } from './statements.js';
import type { Signed, Surroundings } from './surroundings.js';
import { deliveryOf, type SimulatedJob } from './work.js';

/** The process was killed: everything that it was doing ends here. */
class Killed extends Error {}
/** The control plane said no, or the contract did: the node lets go of what it was doing. */
export class Refused extends Error {}
/** It said nothing. */
export class Unanswered extends Refused {}

/** Work under a lease. */
export interface Run {
  readonly grant: LeaseGrant;
  readonly job: SimulatedJob;
  isOver: boolean;
  /** By the broker's newest word, unix seconds. */
  attestedUntil: number;
  /** Its enclave does not care. */
  isOutlived: boolean;
}

interface KeptDelivery extends Signed {
  readonly job: SimulatedJob;
  readonly ref: LeaseName;
  readonly blob: string;
  readonly receipts: readonly SignedStatement[];
}

interface LeaseName {
  readonly leaseId: string;
  readonly fence: number;
}

const trainMilliseconds = 4000;
const beatMilliseconds = 10_000;
/** Longer than a claim holds that nobody prolongs. */
const outlivedClaimMilliseconds = [31_000, 70_000] as const;
const retries = 8;
/** Answers after which the same message may be sent again. */
const transient = new Set(['DATABASE_UNAVAILABLE', 'INTERNAL']);

export abstract class SimulatedNode {
  readonly principal: Principal;
  protected readonly random: Random;
  protected id = '';
  #life = 0;
  #stoppedUntil = 0;
  /** What survives a kill. */
  readonly #disk: KeptDelivery[] = [];

  constructor(
    protected readonly world: Surroundings,
    private readonly name: string,
    readonly provider: string,
    private readonly capabilities: NodeCapabilities,
  ) {
    this.random = world.random.fork();
    const host = provider.slice(2, 6);
    this.principal = { keyId: `key-${host}`, tenant: `host-${host}`, role: 'operator', provider, scopes: null };
  }

  start(): void {
    const life = this.#life;
    this.world.scheduler.spawn(this.random.around(1000), () => this.untilKilled(() => this.main(life)));
  }

  kill(): void {
    this.#life += 1;
    this.world.scheduler.later(this.random.around(8000), () => this.start());
  }

  /** SIGSTOP; the clock goes on outside. */
  stop(): void {
    this.#stoppedUntil = this.world.scheduler.now + this.random.whole(1000, 120_000);
  }

  /** Its operator takes it out of service for a while. */
  async drain(): Promise<void> {
    await this.set('draining');
    await this.world.scheduler.sleep(this.random.fraction() * 60_000);
    await this.set('ready');
  }

  /** Until the node may work on the job: evidence and key, or the broker's trust. */
  protected abstract engage(life: number, run: Run): Promise<void>;
  /** Under which attestation it signs now. @throws Refused where there is none */
  protected abstract attestation(life: number, run: Run): Promise<Signed>;
  protected abstract sign(statement: StepStatement): Promise<SignedStatement>;
  /** What a node without a lease does for others. @returns whether there was anything */
  protected abstract lendHand(life: number): Promise<boolean>;

  /** @returns receipts that no checkpoint brought */
  protected async train(life: number, run: Run): Promise<readonly SignedStatement[]> {
    const { principal, world } = this;
    const { grant, job } = run;
    const ref = { auth: '', ...nameOf(grant) };
    const { resume } = grant.job;
    let before = this.read(resume?.blob ?? null);
    for (let index = (resume?.step ?? 0) / job.steps; index < job.borders.length - 1; index += 1) {
      await this.step(life, run);
      const step = (index + 1) * job.steps;
      const statement = segmentOf(job, index, before);
      before = statement.weightsAfter;
      const blob = await this.store(life, before);
      const signed = await this.attestation(life, run);
      const message = { ...ref, step, blob, ...(await this.sign(statement)) };
      await this.report(life, run, (at) => at.get(TrainingReports).checkpoint(principal, message));
      world.acknowledged.checkpoints.push({ jobId: job.id, step, fence: grant.fence, ...signed });
      const progress = { ...ref, step, of: job.manifest.steps, loss: 1 };
      if (this.random.chance(0.3)) await this.send(life, (at) => at.get(SessionReports).progress(principal, progress));
    }
    return [];
  }

  /** Trains one segment, or fails at it. @throws Refused */
  protected async step(life: number, run: Run): Promise<void> {
    await this.pause(life, trainMilliseconds);
    if (!this.world.faults.strikes('run failed', 0.03)) return;
    const failure = { code: 'ENCLAVE_LOST', detail: 'simulated', retry: this.random.chance(0.8) };
    const message = { auth: '', ...nameOf(run.grant), ...failure };
    await this.report(life, run, (at) => at.get(SessionReports).fail(this.principal, message));
    throw new Refused();
  }

  /** Works on a claim that nobody prolongs, now and then for longer than it holds. */
  protected async workOnClaim(life: number): Promise<void> {
    await this.pause(life, trainMilliseconds);
    if (!this.world.faults.strikes('claim outlived', 0.05)) return;
    await this.world.scheduler.sleep(this.random.whole(...outlivedClaimMilliseconds));
    await this.awake(life);
  }

  /** What is still missing before the delivery. */
  protected async complete(_life: number, _run: Run): Promise<void> {}

  /** What else the process does as long as it lives. */
  protected background(_life: number): void {}

  private async set(state: 'ready' | 'draining'): Promise<void> {
    if (this.id === '') return;
    for (;;) {
      const answer = await this.world.transport.call(this.world.replica(), (at) =>
        at.get(Nodes).schedule(this.principal, this.id, state),
      );
      if (answer.kind === 'ok') return;
      await this.world.scheduler.sleep(this.random.around(1000));
    }
  }

  private async main(life: number): Promise<void> {
    const { name, provider, principal, capabilities } = this;
    const node = { auth: '', name, provider, capabilities, protocol: protocolVersion };
    this.id = (await this.ask(life, (at) => at.get(Nodes).register(principal, node))).nodeId;
    this.background(life);
    for (const kept of [...this.#disk]) await this.handOver(life, kept).catch(forgive);
    for (let idle = 1; !this.world.isOver; idle = Math.min(idle + 1, 8)) {
      const grant = await this.poll(life);
      if (grant !== null) await this.work(life, grant);
      const isBusy = grant !== null || (await this.lendHand(life));
      if (isBusy) idle = 0;
      else await this.pause(life, 2000 * idle);
    }
  }

  private async poll(life: number): Promise<LeaseGrant | null> {
    const never = new AbortController().signal;
    const answer = await this.send(life, (at) => at.get(Assignment).acquire(this.principal, this.id, 0, [], never));
    return answer.kind === 'ok' ? answer.value : null;
  }

  private async work(life: number, grant: LeaseGrant): Promise<void> {
    const job = this.world.jobs.get(grant.job.jobId)!;
    const run: Run = { grant, job, isOver: false, attestedUntil: 0, isOutlived: false };
    this.spawn(0, () => this.beat(life, run));
    try {
      await this.engage(life, run);
      const receipts = await this.train(life, run);
      await this.complete(life, run);
      const result = { job, ref: nameOf(grant), blob: await this.store(life, job.borders.at(-1)!), receipts };
      const kept = { ...result, ...(await this.attestation(life, run)) };
      this.#disk.push(kept);
      await this.handOver(life, kept);
    } catch (error) {
      forgive(error);
    } finally {
      run.isOver = true;
    }
  }

  /** Delivers until it is acknowledged or refused; then, and only then, commits on chain. */
  private async handOver(life: number, kept: KeptDelivery): Promise<void> {
    const { job, ref, blob, receipts, signedAt, attestedUntil } = kept;
    const delivery = deliveryOf(job, blob, this.read(blob), receipts);
    try {
      const message = { auth: '', ...ref, ...delivery };
      await this.ask(life, (at) => at.get(TrainingReports).deliver(this.principal, message));
      this.world.acknowledged.deliveries.push({ jobId: job.id, blob, signedAt, attestedUntil });
      this.world.chain.commit(job, delivery.run.delivery);
    } catch (error) {
      forgive(error);
    }
    this.#disk.splice(this.#disk.indexOf(kept), 1);
  }

  private async beat(life: number, run: Run): Promise<void> {
    const leases = [nameOf(run.grant)];
    while (!run.isOver) {
      await this.world.scheduler.sleep(beatMilliseconds / 2);
      await this.pause(life, beatMilliseconds / 2);
      if (run.isOver) return;
      const answer = await this.send(life, async (at) => {
        await at.get(Presences).of(this.principal, this.id);
        return at.get(Heartbeats).beat(this.id, leases);
      });
      if (answer.kind === 'ok' && answer.value.cancel.length + answer.value.lost.length > 0) run.isOver = true;
    }
  }

  /** Stores a ciphertext, as an upload before a report would; its name differs from run to run. */
  protected async store(life: number, content: Uint8Array): Promise<string> {
    const sha256 = to0x(this.random.bytes(32));
    this.world.blobs.set(sha256, content);
    const row = { sha256, tenant: this.principal.tenant, bytes: 64, createdAt: new Date(0) };
    await this.ask(life, () =>
      this.world.store.manager.createQueryBuilder().insert().into(BlobRecord).values(row).orIgnore().execute(),
    );
    return sha256;
  }

  /** What was stored under a name; null: the start weights. */
  protected read(blob: string | null): Uint8Array {
    return blob === null ? weights(0) : this.world.blobs.get(blob)!;
  }

  /** Sends until it is acknowledged. @throws Refused */
  protected async report<T>(life: number, run: Run, handle: (at: Container) => Promise<T>): Promise<T> {
    if (run.isOver) throw new Refused();
    return this.ask(life, handle);
  }

  protected async ask<T>(life: number, handle: (at: Container) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < retries; tries += 1) {
      const answer = await this.send(life, handle);
      if (answer.kind === 'ok') return answer.value;
      if (answer.kind === 'problem' && !transient.has(answer.code)) throw new Refused(answer.code);
      await this.pause(life, 500 * 2 ** tries);
    }
    throw new Unanswered();
  }

  protected async send<T>(life: number, handle: (at: Container) => Promise<T>) {
    const answer = await this.world.transport.call(this.world.replica(), handle);
    await this.awake(life);
    return answer;
  }

  protected async pause(life: number, milliseconds: number): Promise<void> {
    await this.world.scheduler.sleep(this.random.around(milliseconds));
    await this.awake(life);
  }

  protected isAlive(life: number): boolean {
    return this.#life === life && !this.world.isOver;
  }

  /** @throws Killed */
  protected async awake(life: number): Promise<void> {
    const { scheduler } = this.world;
    while (scheduler.now < this.#stoppedUntil) await scheduler.sleep(this.#stoppedUntil - scheduler.now);
    if (this.#life !== life) throw new Killed();
  }

  protected spawn(milliseconds: number, task: () => Promise<void>): void {
    this.world.scheduler.spawn(milliseconds, () => this.untilKilled(task));
  }

  private async untilKilled(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!(error instanceof Killed)) forgive(error, () => this.kill());
    }
  }
}

export function nameOf({ leaseId, fence }: LeaseGrant): LeaseName {
  return { leaseId, fence };
}

/** What a node lives with; everything else ends the simulation. */
export function forgive(error: unknown, then: () => void = () => undefined): void {
  if (!(error instanceof Refused)) throw error;
  then();
}
