/** A simulated node with a TEE: attests, keeps its attestation fresh, and works on segments of data-parallel jobs. */
import { toBase64 } from '#attestation/base';
import type { StepStatement } from '#attestation/records';
import type { CompleteRound, SegmentRef, SegmentTask, SignedStatement } from '#libs/wire';
import { noEndorsements } from '#test/made-session';
import { SegmentAssignment } from '../../apps/control-plane/src/claims/segment-assignment.js';
import { RenewalReports } from '../../apps/control-plane/src/reports/renewal-reports.js';
import { SegmentReports } from '../../apps/control-plane/src/reports/segment-reports.js';
import { SessionReports } from '../../apps/control-plane/src/reports/session-reports.js';
import { TrainingReports } from '../../apps/control-plane/src/reports/training-reports.js';
import { WorkerRenewals } from '../../apps/control-plane/src/reports/worker-renewals.js';
import { forgive, nameOf, Refused, SimulatedNode, type Run } from './node.js';
import { clockSeconds, refusedClaims } from './replica.js';
import { averageOf, packPartial, partialStatement, signed } from './statements.js';
import type { Signed } from './surroundings.js';
import { releaseOf, renewalOf, sessionOf, type SimulatedJob } from './work.js';

const attestedSeconds = 24;
/** Beyond the end of an attestation, whatever the clocks of the replicas say. */
const outlivedSeconds = clockSeconds + 20;
/** Few jobs have workers, and many of these outlive their claim as well. */
const carelessWorker = 0.15;
const claimBeatMilliseconds = 8000;
const roundPauseMilliseconds = 2000;

/** A session, and whether it goes on when its attestation is over. */
type Attested = Pick<Run, 'attestedUntil' | 'isOutlived'>;

/** A worker's session. */
interface Seat extends Attested {
  isOver: boolean;
}

export class EnclaveNode extends SimulatedNode {
  #joined = 0;

  protected async engage(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const ref = { auth: '', ...nameOf(run.grant) };
    const isRefused = world.faults.strikes('evidence refused', 0.02);
    const session = await sessionOf(this.provider, 1, isRefused ? refusedClaims : '');
    const shown = { evidence: toBase64(session.evidence), endorsements: noEndorsements };
    await this.report(life, run, (at) => at.get(SessionReports).attested(principal, { ...ref, ...shown }));
    if (isRefused) throw new Refused();
    const { escrowId } = run.job;
    run.attestedUntil = world.chain.at + attestedSeconds;
    const release = releaseOf(run.job, session, run.attestedUntil);
    await this.report(life, run, (at) => at.get(SessionReports).keyed(principal, { ...ref, release }));
    world.chain.engage(escrowId, this.provider);
    this.spawn(0, () => this.keepFresh(life, run));
    await this.report(life, run, (at) => at.get(SessionReports).running(principal, ref));
  }

  protected sign(statement: StepStatement): Promise<SignedStatement> {
    return signed(statement);
  }

  /** Attests again at a third of the window. A word to the control plane that is not heard is followed by the next. */
  private async keepFresh(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const { scheduler, faults } = world;
    for (let round = 2; ; round += 1) {
      await scheduler.sleep((1000 * attestedSeconds) / 3);
      await this.awake(life);
      if (run.isOver || run.isOutlived || world.chain.at > run.attestedUntil) return;
      const ref = { auth: '', ...nameOf(run.grant) };
      if (faults.strikes('renewal refused', 0.01)) {
        run.isOver = true;
        const failure = { ...ref, code: 'ATTESTATION_REFUSED', detail: 'simulated', retry: true };
        await this.ask(life, (at) => at.get(SessionReports).fail(principal, failure)).catch(forgive);
        return;
      }
      run.attestedUntil = world.chain.at + attestedSeconds;
      const session = await sessionOf(this.provider, round);
      const message = { ...ref, ...renewalOf(run.job, session, run.attestedUntil) };
      const tell = () => this.send(life, (at) => at.get(RenewalReports).renewed(principal, message));
      const lateBy = faults.strikes('renewal late', 0.05) ? this.random.fraction() * 20_000 : 0;
      const times = faults.strikes('renewal repeated', 0.02) ? 2 : 1;
      this.spawn(lateBy, async () => {
        for (let time = 0; time < times; time += 1) await tell();
      });
    }
  }

  /**
   * An enclave whose attestation is over signs nothing, unless it is one that does not care.
   * @param careless how probable that is
   * @throws Refused
   */
  protected async attestation(life: number, run: Attested, careless = 0.03): Promise<Signed> {
    const { chain, faults, scheduler } = this.world;
    run.isOutlived ||= faults.strikes('session outlived', careless);
    const until = run.attestedUntil + outlivedSeconds;
    if (run.isOutlived) await scheduler.sleep(1000 * Math.max(0, until - chain.at));
    await this.awake(life);
    const signedAt = chain.at;
    if (signedAt > run.attestedUntil && !run.isOutlived) throw new Refused();
    return { signedAt, attestedUntil: run.attestedUntil };
  }

  /** The leaseholder of a data-parallel job works on segments like any worker, and averages rounds that are complete. */
  protected override async train(life: number, run: Run): Promise<readonly SignedStatement[]> {
    const { job } = run;
    if (job.workers === 1) return super.train(life, run);
    const workerId = await this.join(life, job, run);
    while (!run.isOver) {
      const { task, round, over } = await this.askSegment(life, { jobId: job.id, leads: true });
      if (over) break;
      if (task !== null) await this.workSegment(life, task, workerId, run);
      else if (round === null) await this.pause(life, roundPauseMilliseconds);
      else {
        const last = await this.closeRound(life, run, round);
        if (last !== null) return [last];
      }
    }
    throw new Refused();
  }

  /** Behind any round but the last its end is told at once. @returns the last one's receipt, which goes with the delivery */
  private async closeRound(life: number, run: Run, round: CompleteRound): Promise<SignedStatement | null> {
    const { job, grant } = run;
    await this.step(life, run);
    const partials = round.partials.map((blob) => this.read(blob));
    const { step, after, told } = await averageOf(job, this.read(round.checkpoint), partials);
    if (step === job.manifest.steps) return told;
    const blob = await this.store(life, after);
    const signing = await this.attestation(life, run);
    const message = { auth: '', ...nameOf(grant), step, blob, ...told };
    await this.report(life, run, (at) => at.get(TrainingReports).checkpoint(this.principal, message));
    this.world.acknowledged.checkpoints.push({ jobId: job.id, step, fence: grant.fence, ...signing });
    return null;
  }

  /** Joins a job of its provider that has a segment to train, and stays as long as it gives them out and the session is fresh. */
  protected async lendHand(life: number): Promise<boolean> {
    const first = await this.send(life, (at) => this.acquireSegment(at.get(SegmentAssignment), { leads: false }));
    if (first.kind !== 'ok' || first.value.task === null) return false;
    const { chain, jobs } = this.world;
    const job = jobs.get(first.value.task.jobId)!;
    const seat = { attestedUntil: chain.at + attestedSeconds, isOutlived: false, isOver: false };
    try {
      const workerId = await this.join(life, job, seat);
      this.spawn(0, () => this.keepSeat(life, seat, job, workerId));
      let task: SegmentTask | null = first.value.task;
      for (;;) {
        if (task !== null) await this.workSegment(life, task, workerId, seat);
        else await this.pause(life, roundPauseMilliseconds);
        if (seat.isOutlived || chain.at > seat.attestedUntil) return true;
        const answer = await this.askSegment(life, { jobId: job.id, leads: false });
        if (answer.over) return true;
        task = answer.task;
      }
    } catch (error) {
      forgive(error);
      return true;
    } finally {
      seat.isOver = true;
    }
  }

  private async keepSeat(life: number, seat: Seat, job: SimulatedJob, workerId: string): Promise<void> {
    const { scheduler, chain } = this.world;
    const worker = { auth: '', nodeId: this.id, jobId: job.id, workerId };
    for (let round = 2; ; round += 1) {
      await scheduler.sleep((1000 * attestedSeconds) / 3);
      await this.awake(life);
      if (seat.isOver || seat.isOutlived || chain.at > seat.attestedUntil) return;
      seat.attestedUntil = chain.at + attestedSeconds;
      const session = await sessionOf(this.provider, round);
      const message = { ...worker, ...renewalOf(job, session, seat.attestedUntil) };
      await this.send(life, (at) => at.get(WorkerRenewals).renewed(this.principal, message));
    }
  }

  /** A session is attested anew for every job that it joins. */
  private async join(life: number, job: SimulatedJob, { attestedUntil }: Attested): Promise<string> {
    this.#joined += 1;
    const session = await sessionOf(this.provider, 1, `joined ${this.#joined}`);
    const release = releaseOf(job, session, attestedUntil);
    const shown = { evidence: toBase64(session.evidence), endorsements: noEndorsements };
    const message = { auth: '', nodeId: this.id, jobId: job.id, ...shown, release };
    return (await this.ask(life, (at) => at.get(SegmentReports).join(this.principal, message))).workerId;
  }

  private askSegment(life: number, question: SegmentQuestion) {
    return this.ask(life, (at) => this.acquireSegment(at.get(SegmentAssignment), question));
  }

  private acquireSegment(at: SegmentAssignment, question: SegmentQuestion) {
    const never = new AbortController().signal;
    return at.acquire(this.principal, { auth: '', nodeId: this.id, waitMs: 0, ...question }, never);
  }

  /** From the claim to the partial that the control plane has; one that somebody else has taken meanwhile is let go. */
  private async workSegment(life: number, task: SegmentTask, workerId: string, session: Attested): Promise<void> {
    const { principal, world } = this;
    const { jobId, index, fence } = task;
    const ref = { auth: '', nodeId: this.id, jobId, index, fence };
    const job = world.jobs.get(jobId)!;
    const work = { isOver: false };
    await this.workOnClaim(life);
    try {
      if (world.faults.strikes('claim given back', 0.05)) {
        const failure = { ...ref, code: 'ENCLAVE_LOST', detail: 'simulated' };
        return void (await this.ask(life, (at) => at.get(SegmentReports).fail(principal, failure)));
      }
      this.spawn(0, () => this.keepClaim(life, ref, work));
      const partial = await signed(partialStatement(job, index, this.read(task.checkpoint)));
      const blob = await this.store(life, packPartial(partial));
      const signing = await this.attestation(life, session, carelessWorker);
      const message = { ...ref, workerId, blob, ...partial };
      await this.ask(life, (at) => at.get(SegmentReports).deliver(principal, message));
      world.acknowledged.partials.push({ jobId, index, blob, ...signing });
    } catch (error) {
      forgive(error);
    } finally {
      work.isOver = true;
    }
  }

  private async keepClaim(life: number, ref: SegmentRef, work: { readonly isOver: boolean }): Promise<void> {
    while (!work.isOver) {
      await this.send(life, (at) => at.get(SegmentReports).progress(this.principal, { auth: '', ...ref, step: 1 }));
      await this.world.scheduler.sleep(claimBeatMilliseconds);
      await this.awake(life);
    }
  }
}

interface SegmentQuestion {
  readonly jobId?: string;
  readonly leads: boolean;
}
