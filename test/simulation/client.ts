/** A simulated client: submits, funds, sometimes cancels at any moment, and waits for the end of its job. */
import type { Principal } from '../../apps/control-plane/src/core/auth/principal.js';
import { JobCommands } from '../../apps/control-plane/src/jobs/job-commands.js';
import { Jobs } from '../../apps/control-plane/src/jobs/jobs.service.js';
import { endStates, type JobState } from '../../apps/control-plane/src/jobs/state-machine.js';
import type { Container } from './container.js';
import type { Random } from './random.js';
import type { Surroundings } from './surroundings.js';
import type { SimulatedJob } from './work.js';

const lookMilliseconds = 25_000;

export class SimulatedClient {
  readonly #random: Random;
  readonly #principal: Principal;

  constructor(
    private readonly world: Surroundings,
    readonly tenant: string,
  ) {
    this.#random = world.random.fork();
    this.#principal = { keyId: `key-${tenant}`, tenant, role: 'client', provider: null, scopes: null };
  }

  async order(job: SimulatedJob): Promise<void> {
    const { world } = this;
    const { scheduler, chain, faults } = world;
    await this.insist((at) => at.get(Jobs).submit(this.#principal, job.input));
    world.acknowledged.submissions.push(job.id);
    if (!faults.strikes('escrow missing', 0.01)) chain.open(job);
    if (faults.strikes('job cancelled', 0.05)) {
      scheduler.spawn(this.#random.fraction() * 60_000, () => this.cancel(job));
    }
    if (faults.strikes('job paused', 0.03)) scheduler.spawn(this.#random.fraction() * 30_000, () => this.pause(job));
    for (;;) {
      await scheduler.sleep(this.#random.around(lookMilliseconds));
      const { state } = await this.insist((at) => at.get(Jobs).find(this.#principal, job.id));
      const isAgain = (state === 'failed' || state === 'refused') && faults.strikes('job retried', 0.9);
      if (isAgain) await this.try((at) => at.get(JobCommands).retry(this.#principal, job.id));
      else if (endStates.includes(state as JobState)) return;
    }
  }

  private async cancel(job: SimulatedJob): Promise<void> {
    const answer = await this.world.transport.call(this.world.replica(), (at) =>
      at.get(JobCommands).cancel(this.#principal, job.id),
    );
    if (answer.kind !== 'ok') return;
    this.world.acknowledged.cancellations.push(job.id);
    this.world.chain.abort(job.escrowId);
  }

  private async pause(job: SimulatedJob): Promise<void> {
    await this.try((at) => at.get(JobCommands).pause(this.#principal, job.id));
    await this.world.scheduler.sleep(this.#random.fraction() * 60_000);
    await this.try((at) => at.get(JobCommands).resume(this.#principal, job.id));
  }

  /** Asks until there is an answer, whatever it is. */
  private async try<T>(handle: (at: Container) => Promise<T>): Promise<void> {
    for (;;) {
      const answer = await this.world.transport.call(this.world.replica(), handle);
      if (answer.kind === 'ok' || (answer.kind === 'problem' && answer.code !== 'DATABASE_UNAVAILABLE')) return;
      await this.world.scheduler.sleep(this.#random.around(2000));
    }
  }

  /** Asks until the answer is yes. */
  private async insist<T>(handle: (at: Container) => Promise<T>): Promise<T> {
    for (;;) {
      const answer = await this.world.transport.call(this.world.replica(), handle);
      if (answer.kind === 'ok') return answer.value;
      if (answer.kind === 'problem' && answer.code !== 'DATABASE_UNAVAILABLE')
        throw new Error(`the control plane answered a client with ${answer.code}`);
      await this.world.scheduler.sleep(this.#random.around(2000));
    }
  }
}
