/** A simulated node without a TEE: trains jobs whose steps are proved, proves segments of any, and brings proofs to the chain. */
import type { StepStatement } from '#attestation/records';
import type { ProofDeliver, ProofTask, SignedStatement } from '#libs/wire';
import { Assignment } from '../../apps/control-plane/src/claims/assignment.js';
import { ProofReports } from '../../apps/control-plane/src/reports/proof-reports.js';
import { SessionReports } from '../../apps/control-plane/src/reports/session-reports.js';
import { forgive, nameOf, Refused, SimulatedNode, Unanswered, type Run } from './node.js';
import { proofOf, segmentOf, unsigned } from './statements.js';
import type { Signed } from './surroundings.js';
import type { SimulatedJob } from './work.js';

const proofPauseMilliseconds = 2000;
const collectMilliseconds = 6000;

interface KeptProof {
  readonly job: SimulatedJob;
  readonly message: ProofDeliver;
  /** The control plane has taken it. */
  isTold: boolean;
}

export class ProverNode extends SimulatedNode {
  /** What survives a kill. */
  readonly #proofs = new Set<KeptProof>();

  protected async engage(life: number, run: Run): Promise<void> {
    const { principal, world } = this;
    const ref = { auth: '', ...nameOf(run.grant) };
    await this.report(life, run, (at) => at.get(SessionReports).entrusted(principal, ref));
    world.chain.engage(run.job.escrowId, this.provider);
    await this.report(life, run, (at) => at.get(SessionReports).running(principal, ref));
  }

  protected sign(statement: StepStatement): Promise<SignedStatement> {
    return Promise.resolve(unsigned(statement));
  }

  /** It has none that could end. */
  protected attestation(): Promise<Signed> {
    const { at } = this.world.chain;
    return Promise.resolve({ signedAt: at, attestedUntil: at });
  }

  /** Proves what is free and waits for what others prove. @throws Refused */
  protected override async complete(life: number, run: Run): Promise<void> {
    const { id: jobId, kind } = run.job;
    if (kind !== 'zk') return;
    while (!run.isOver) {
      const { task, left } = await this.ask(life, (at) => this.acquireProof(at.get(Assignment), jobId));
      if (task !== null) await this.prove(life, task);
      else if (left === 0) return;
      else await this.pause(life, proofPauseMilliseconds);
    }
    throw new Refused();
  }

  protected async lendHand(life: number): Promise<boolean> {
    const answer = await this.send(life, (at) => this.acquireProof(at.get(Assignment)));
    if (answer.kind !== 'ok' || answer.value.task === null) return false;
    await this.prove(life, answer.value.task);
    return true;
  }

  private acquireProof(at: Assignment, jobId?: string) {
    const never = new AbortController().signal;
    const question = {
      auth: '',
      nodeId: this.id,
      waitMs: 0,
      countOnly: false,
      insists: false,
      ...(jobId !== undefined && { jobId }),
    };
    return at.acquireProof(this.principal, question, never);
  }

  /** From the claim to the verified proof; one that somebody else has taken meanwhile is let go. */
  private async prove(life: number, task: ProofTask): Promise<void> {
    const { principal, world } = this;
    const { jobId, index, fence } = task;
    const ref = { auth: '', nodeId: this.id, jobId, index, fence };
    const job = world.jobs.get(jobId)!;
    await this.workOnClaim(life);
    try {
      if (world.faults.strikes('claim given back', 0.05)) {
        const failure = { ...ref, code: 'PROVER_ENDED', detail: 'simulated' };
        return void (await this.ask(life, (at) => at.get(ProofReports).fail(principal, failure)));
      }
      const progress = { ...ref, phase: 'prove' as const, percent: 45, etaSeconds: null };
      if (this.random.chance(0.3)) await this.send(life, (at) => at.get(ProofReports).progress(principal, progress));
      const blob = await this.store(life, proofOf(segmentOf(job, index, this.read(task.checkpoint))));
      const proof = { job, message: { ...ref, blob, document: '{}' }, isTold: false };
      this.#proofs.add(proof);
      await this.tell(life, proof);
    } catch (error) {
      forgive(error);
    }
  }

  /** One that is refused is of no use; one that nobody answered for is told again. */
  private async tell(life: number, proof: KeptProof): Promise<void> {
    const { message } = proof;
    try {
      await this.ask(life, (at) => at.get(ProofReports).deliver(this.principal, message));
      this.world.acknowledged.proofs.push({ jobId: message.jobId, index: message.index });
      proof.isTold = true;
    } catch (error) {
      forgive(error);
      if (!(error instanceof Unanswered)) this.#proofs.delete(proof);
    }
  }

  /** Brings its proofs to the contract as soon as the control plane has them: what it does not know of, it is told again. */
  protected override background(life: number): void {
    this.spawn(0, async () => {
      while (this.isAlive(life)) {
        await this.pause(life, collectMilliseconds);
        for (const proof of this.#proofs) {
          if (!proof.isTold) await this.tell(life, proof);
          const isDone = proof.isTold && this.world.chain.discharge(proof.job.escrowId, proof.message.index);
          if (isDone) this.#proofs.delete(proof);
        }
      }
    });
  }
}
