/**
 * A simulated node: leases, attests, trains, checkpoints, delivers and commits as a host agent does, repeats what was
 * not acknowledged, keeps its delivery on disk, and is killed or stopped at any moment. A stopped node does not notice:
 * it goes on with the lease that it had.
 */
import { protocolVersion, type LeaseGrant } from '#libs/messaging';
import { BlobRecord } from '#libs/persistence';
import { base64, hex, segmentSteps } from '#test/made-session';
import type { Principal } from '../../apps/control-plane/src/auth/principal.js';
import { Assignment } from '../../apps/control-plane/src/dispatch/assignment.js';
import { Heartbeats } from '../../apps/control-plane/src/dispatch/heartbeats.js';
import { RenewalReports } from '../../apps/control-plane/src/dispatch/renewal-reports.js';
import { SessionReports } from '../../apps/control-plane/src/dispatch/session-reports.js';
import { TrainingReports } from '../../apps/control-plane/src/dispatch/training-reports.js';
import { Nodes } from '../../apps/control-plane/src/nodes/nodes.service.js';
import { Presences } from '../../apps/control-plane/src/nodes/presences.js';
import type { Container } from './container.js';
import type { Random } from './random.js';
import { clockSeconds } from './replica.js';
import { deliveryOf, releaseOf, renewalOf, segmentOf, sessionOf, type SimulatedJob } from './work.js';
import type { Signed, Surroundings } from './surroundings.js';

/** The process was killed: everything that it was doing ends here. */
class Killed extends Error {}
/** The control plane said no, or the contract did: the node lets go of the job. */
class Refused extends Error {}

interface Run {
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
  readonly ref: { readonly leaseId: string; readonly fence: number };
  readonly blob: string;
}

const trainMilliseconds = 4000;
const attestedSeconds = 24;
/** Beyond the end of an attestation, whatever the clocks of the replicas say. */
const outlivedSeconds = clockSeconds + 20;
const retries = 8;
/** Answers after which the same message may be sent again. */
const transient = new Set(['DATABASE_UNAVAILABLE', 'INTERNAL']);

export class SimulatedNode {
  readonly principal: Principal;
  readonly #random: Random;
  #id = '';
  #life = 0;
  #stoppedUntil = 0;
  /** What survives a kill. */
  readonly #disk: KeptDelivery[] = [];

  constructor(
    private readonly world: Surroundings,
    private readonly name: string,
    readonly provider: string,
    private readonly cores: number,
  ) {
    this.#random = world.random.fork();
    this.principal = {
      keyId: `key-${provider.slice(2, 6)}`,
      tenant: `host-${provider.slice(2, 6)}`,
      role: 'operator',
      provider,
    };
  }

  start(): void {
    const life = this.#life;
    this.world.scheduler.spawn(this.#random.around(1000), () => this.untilKilled(() => this.main(life)));
  }

  kill(): void {
    this.#life += 1;
    this.world.scheduler.later(this.#random.around(8000), () => this.start());
  }

  /** SIGSTOP; the clock goes on outside. */
  stop(): void {
    this.#stoppedUntil = this.world.scheduler.now + this.#random.whole(1000, 120_000);
  }

  /** Its operator takes it out of service for a while. */
  async drain(): Promise<void> {
    await this.set('draining');
    await this.world.scheduler.sleep(this.#random.fraction() * 60_000);
    await this.set('ready');
  }

  private async set(state: 'ready' | 'draining'): Promise<void> {
    if (this.#id === '') return;
    for (;;) {
      const answer = await this.world.transport.call(this.world.replica(), (at) =>
        at.get(Nodes).schedule(this.principal, this.#id, state),
      );
      if (answer.kind === 'ok') return;
      await this.world.scheduler.sleep(this.#random.around(1000));
    }
  }

  private async main(life: number): Promise<void> {
    const { name, provider, principal } = this;
    const capabilities = { tee: 'simulated-snp', cores: this.cores, memoryMiB: 1024, version: '1' } as const;
    const node = { auth: '', name, provider, capabilities, protocol: protocolVersion };
    this.#id = (await this.ask(life, (at) => at.get(Nodes).register(principal, node))).nodeId;
    for (const kept of [...this.#disk]) await this.handOver(life, kept).catch(forgive);
    for (let idle = 1; !this.world.isOver; idle = Math.min(idle + 1, 8)) {
      const grant = await this.poll(life);
      if (grant === null) await this.pause(life, 2000 * idle);
      else await this.work(life, grant);
      if (grant !== null) idle = 0;
    }
  }

  private async poll(life: number): Promise<LeaseGrant | null> {
    const never = new AbortController().signal;
    const answer = await this.send(life, (at) => at.get(Assignment).acquire(this.principal, this.#id, 0, [], never));
    return answer.kind === 'ok' ? answer.value : null;
  }

  private async work(life: number, grant: LeaseGrant): Promise<void> {
    const job = this.world.jobs.get(grant.job.jobId)!;
    const run: Run = { grant, job, isOver: false, attestedUntil: 0, isOutlived: false };
    this.world.scheduler.spawn(0, () => this.untilKilled(() => this.beat(life, run)));
    try {
      await this.attest(life, run);
      await this.train(life, run);
      const kept = { job: run.job, ref: refOf(grant), blob: await this.store(life), ...(await this.signs(life, run)) };
      this.#disk.push(kept);
      await this.handOver(life, kept);
    } catch (error) {
      forgive(error);
    } finally {
      run.isOver = true;
    }
  }

  private async attest(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const ref = { auth: '', ...refOf(run.grant) };
    const session = sessionOf(this.provider);
    const isRefused = world.faults.strikes('evidence refused', 0.01);
    const evidence = isRefused ? Buffer.from('refused').toString('base64') : base64(session.evidence);
    await this.report(life, run, (at) => at.get(SessionReports).attested(principal, { ...ref, evidence }));
    if (isRefused) throw new Refused();
    const { escrowId } = run.job;
    run.attestedUntil = world.chain.at + attestedSeconds;
    const release = releaseOf(escrowId, session, run.attestedUntil);
    await this.report(life, run, (at) => at.get(SessionReports).keyed(principal, { ...ref, release }));
    if (world.chain.stateOf(escrowId) === 'open') world.chain.accept(escrowId, this.provider);
    if (world.chain.stateOf(escrowId) === 'accepted') world.chain.start(escrowId);
    world.scheduler.spawn(0, () => this.untilKilled(() => this.keepFresh(life, run)));
    await this.report(life, run, (at) => at.get(SessionReports).running(principal, ref));
  }

  /** Attests again at a third of the window. A word to the control plane that is not heard is followed by the next. */
  private async keepFresh(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const { scheduler, faults } = world;
    for (let round = 2; ; round += 1) {
      await scheduler.sleep((1000 * attestedSeconds) / 3);
      await this.awake(life);
      if (run.isOver || run.isOutlived || world.chain.at > run.attestedUntil) return;
      const ref = { auth: '', ...refOf(run.grant) };
      if (faults.strikes('renewal refused', 0.01)) {
        run.isOver = true;
        const failure = { ...ref, code: 'ATTESTATION_REFUSED', detail: 'simulated', retry: true };
        await this.ask(life, (at) => at.get(SessionReports).fail(principal, failure)).catch(forgive);
        return;
      }
      run.attestedUntil = world.chain.at + attestedSeconds;
      const message = { ...ref, ...renewalOf(sessionOf(this.provider, round), run.attestedUntil) };
      const tell = () => this.send(life, (at) => at.get(RenewalReports).renewed(principal, message));
      const lateBy = faults.strikes('renewal late', 0.05) ? this.#random.fraction() * 20_000 : 0;
      const times = faults.strikes('renewal repeated', 0.02) ? 2 : 1;
      scheduler.spawn(lateBy, () =>
        this.untilKilled(async () => {
          for (let time = 0; time < times; time += 1) await tell();
        }),
      );
    }
  }

  /** An enclave whose attestation is over signs nothing, unless it is one that does not care. @throws Refused */
  private async signs(life: number, run: Run): Promise<Signed> {
    const { chain, faults, scheduler } = this.world;
    run.isOutlived ||= faults.strikes('session outlived', 0.02);
    const until = run.attestedUntil + outlivedSeconds;
    if (run.isOutlived) await scheduler.sleep(1000 * Math.max(0, until - chain.at));
    await this.awake(life);
    const signedAt = chain.at;
    if (signedAt > run.attestedUntil && !run.isOutlived) throw new Refused();
    return { signedAt, attestedUntil: run.attestedUntil };
  }

  private async train(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const { grant, job } = run;
    const ref = { auth: '', ...refOf(grant) };
    for (let index = (grant.job.resume?.step ?? 0) / segmentSteps; index < job.segments; index += 1) {
      await this.pause(life, trainMilliseconds);
      if (world.faults.strikes('run failed', 0.03)) {
        const failure = { ...ref, code: 'ENCLAVE_LOST', detail: 'simulated', retry: this.#random.chance(0.8) };
        await this.report(life, run, (at) => at.get(SessionReports).fail(principal, failure));
        throw new Refused();
      }
      const step = (index + 1) * segmentSteps;
      const blob = await this.store(life);
      const signed = await this.signs(life, run);
      const message = { ...ref, step, blob, ...(await segmentOf(job, index)) };
      await this.report(life, run, (at) => at.get(TrainingReports).checkpoint(principal, message));
      world.acknowledged.checkpoints.push({ jobId: job.id, step, fence: grant.fence, ...signed });
      const progress = { ...ref, step, of: job.segments * segmentSteps, loss: 1 };
      if (this.#random.chance(0.3)) await this.send(life, (at) => at.get(SessionReports).progress(principal, progress));
    }
  }

  /** Delivers until it is acknowledged or refused; then, and only then, commits on chain. */
  private async handOver(life: number, kept: KeptDelivery): Promise<void> {
    const { job, ref, blob, signedAt, attestedUntil } = kept;
    const delivery = deliveryOf(job, blob);
    try {
      const message = { auth: '', ...ref, ...delivery };
      await this.ask(life, (at) => at.get(TrainingReports).deliver(this.principal, message));
      this.world.acknowledged.deliveries.push({ jobId: job.id, blob, signedAt, attestedUntil });
      this.world.chain.commit(job.escrowId, delivery.run.delivery);
    } catch (error) {
      if (error instanceof Killed) throw error;
      forgive(error);
    }
    this.#disk.splice(this.#disk.indexOf(kept), 1);
  }

  private async beat(life: number, run: Run): Promise<void> {
    const leases = [refOf(run.grant)];
    while (!run.isOver) {
      await this.pause(life, 10_000);
      if (run.isOver) return;
      const answer = await this.send(life, async (at) => {
        await at.get(Presences).of(this.principal, this.#id);
        return at.get(Heartbeats).beat(this.#id, leases);
      });
      if (answer.kind === 'ok' && answer.value.cancel.length + answer.value.lost.length > 0) run.isOver = true;
    }
  }

  /** Stores a ciphertext of random bytes, as an upload before a checkpoint would. */
  private async store(life: number): Promise<string> {
    const sha256 = hex(this.#random.bytes(32));
    const row = { sha256, tenant: this.principal.tenant, bytes: 64, createdAt: new Date(0) };
    await this.ask(life, () =>
      this.world.store.manager.createQueryBuilder().insert().into(BlobRecord).values(row).orIgnore().execute(),
    );
    return sha256;
  }

  /** Sends until it is acknowledged. @throws Refused */
  private async report<T>(life: number, run: Run, handle: (at: Container) => Promise<T>): Promise<T> {
    if (run.isOver) throw new Refused();
    return this.ask(life, handle);
  }

  private async ask<T>(life: number, handle: (at: Container) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < retries; tries += 1) {
      const answer = await this.send(life, handle);
      if (answer.kind === 'ok') return answer.value;
      if (answer.kind === 'problem' && !transient.has(answer.code)) throw new Refused(answer.code);
      await this.pause(life, 500 * 2 ** tries);
    }
    throw new Refused('no answer');
  }

  private async send<T>(life: number, handle: (at: Container) => Promise<T>) {
    const answer = await this.world.transport.call(this.world.replica(), handle);
    await this.awake(life);
    return answer;
  }

  private async pause(life: number, milliseconds: number): Promise<void> {
    await this.world.scheduler.sleep(this.#random.around(milliseconds));
    await this.awake(life);
  }

  private async awake(life: number): Promise<void> {
    const { scheduler } = this.world;
    while (scheduler.now < this.#stoppedUntil) await scheduler.sleep(this.#stoppedUntil - scheduler.now);
    if (this.#life !== life) throw new Killed();
  }

  private async untilKilled(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!(error instanceof Killed)) forgive(error, () => this.kill());
    }
  }
}

function refOf({ leaseId, fence }: LeaseGrant) {
  return { leaseId, fence };
}

/** What a node lives with; everything else ends the simulation. */
function forgive(error: unknown, then: () => void = () => undefined): void {
  if (!(error instanceof Refused)) throw error;
  then();
}
