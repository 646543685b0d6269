/** Checkpoints while a job runs, and the delivery at its end. */
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { to0x } from '#attestation/base';
import type { StepStatement } from '#attestation/records';
import { Checkpoint, DeliveryRecord, type Job, KeyRelease, NodeRecord, Receipt, Verdict } from '#libs/persistence';
import type { Acknowledged, LeaseCheckpoint, LeaseDeliver, LeaseRef, SignedStatement } from '#libs/wire';
import { actor, type Held, LeaseStore } from '../claims/lease-store.js';
import { ProofStore } from '../claims/proof-store.js';
import type { Principal } from '../core/auth/principal.js';
import { BlobStore } from '../core/objects/blob-store.js';
import { BlobCollector } from '../core/objects/collector.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { dispatchTopic, jobTopic, Signals } from '../core/timing/signals.js';
import { checkStoredPartials } from '../evidence/stored-partials.js';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { requireBlob } from '../data/own-blob.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { type JobState, nextState } from '../jobs/state-machine.js';
import { checkDeliveredRun, deliveredSteps } from './delivered-run.js';
import { checkEvaluations, checkMeasured } from './evaluation-check.js';
import { requireFresh } from './freshness.js';
import { type CheckedReceipt, checkFollows, checkReceipt, isRound, type Signer, statementOf } from './receipt-check.js';
import { checkStoredResult, readStoredResult } from './stored-result.js';

const rule = 'apps/control-plane/README.md, checkpoints';

@Injectable()
export class TrainingReports {
  constructor(
    private readonly leases: LeaseStore,
    private readonly proofs: ProofStore,
    private readonly blobs: BlobStore,
    private readonly collector: BlobCollector,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly signals: Signals,
    private readonly clock: Clock,
  ) {}

  async checkpoint(principal: Principal, message: LeaseCheckpoint): Promise<Acknowledged> {
    const [checked] = await this.checkAll(principal, message, [message], () => Promise.resolve([]));
    const { stepFrom, stepCount } = checked!.statement;
    if (stepFrom + stepCount !== message.step)
      throw gap(`a statement that ends at step ${message.step}`, `${stepFrom + stepCount}`);
    const jobId = await this.leases.hold(principal, message, async (held) => {
      const { manager, job, lease } = held;
      nextState(job.state as JobState, 'deliver');
      requireFresh(job, this.clock.now());
      await requireBlob(manager, principal, message.blob);
      await this.append(held, [checked!], 'checkpoint');
      const row = {
        jobId: job.id,
        step: String(message.step),
        fence: lease.fence,
        blob: message.blob,
        createdAt: this.clock.now(),
      };
      await manager.createQueryBuilder().insert().into(Checkpoint).values(row).orIgnore().execute();
      await this.journal.record(manager, job.id, 'checkpoint', {
        step: message.step,
        blob: message.blob,
        fence: lease.fence,
      });
      await this.handBack(principal, held);
      return job.id;
    });
    this.signals.raise(jobTopic(jobId));
    // Workers may wait for the round that starts here.
    if (isRound(checked!.statement)) this.signals.raise(dispatchTopic);
    await this.collector.removeSpent(jobId);
    return {};
  }

  /** A node that drains keeps nothing: what it has stored is where another goes on. */
  private async handBack(principal: Principal, held: Held): Promise<void> {
    const { state } = await held.manager.findOneByOrFail(NodeRecord, { id: held.lease.nodeId });
    if (state !== 'draining') return;
    const reason = { nodeId: held.lease.nodeId };
    const ending = { state: 'failed', retry: true, isFree: true, code: 'NODE_DRAINING', reason } as const;
    await this.leases.end(held, ending, actor(principal));
  }

  /** Under the newest lease, or under an earlier one whose delivery the chain has committed: no other can be paid. */
  async deliver(principal: Principal, message: LeaseDeliver): Promise<Acknowledged> {
    const isCommitted = async ({ manager, job }: Held): Promise<boolean> =>
      (await this.projection.committedDelivery(manager, job)) === message.run.delivery;
    const checked = await this.checkAll(principal, message, message.receipts, signersOf, isCommitted);
    await this.checkEvaluations(principal, message, isCommitted);
    const stored = await readStoredResult(this.blobs, message.result.blob);
    const store = async (held: Held): Promise<string> => {
      const { manager, job, lease } = held;
      if (lease.state === 'done') {
        await this.checkSame(manager, job, message);
        return job.id;
      }
      const trigger = job.leaseId === lease.id ? 'deliver' : 'recover';
      nextState(job.state as JobState, trigger);
      const committed = await this.projection.committedDelivery(manager, job);
      if (committed !== null && committed !== message.run.delivery) throw overtaken(committed, message.run.delivery);
      if (trigger === 'deliver') requireFresh(job, this.clock.now());
      await requireBlob(manager, principal, message.result.blob);
      checkStoredResult(message.result, stored);
      await this.append(held, checked, 'delivery');
      await this.checkComplete(held, message);
      if (job.assurance === 'zk') await this.checkProved(manager, job);
      checkDeliveredRun(message, openJob(job).terms);
      const { auth: _auth, leaseId: _leaseId, fence: _fence, ...delivery } = message;
      await manager.insert(DeliveryRecord, {
        jobId: job.id,
        leaseId: lease.id,
        fence: lease.fence,
        delivery: delivery as object,
        resultBlob: message.result.blob,
        createdAt: this.clock.now(),
      });
      if (trigger === 'recover') await this.leases.takeAway(manager, job, 'ESCROW_COMMITTED');
      await this.leases.close(manager, lease, 'done', null);
      const { timings } = message;
      await this.journal.record(manager, job.id, 'delivery', { timings, fence: lease.fence, trigger });
      await this.journal.apply(manager, job, trigger, actor(principal), { leaseId: null });
      await this.projection.project(manager, job);
      return job.id;
    };
    await this.collector.removeSpent(await this.leases.hold(principal, message, store, isCommitted));
    return {};
  }

  /** Told again after a lost answer; another result would be taken for one that is stored. @throws Rejection DELIVERY_CONFLICT */
  private async checkSame(manager: EntityManager, { id }: Job, { result }: LeaseDeliver): Promise<void> {
    const { resultBlob } = await manager.findOneByOrFail(DeliveryRecord, { jobId: id });
    if (resultBlob === result.blob) return;
    throw refusal('DELIVERY_CONFLICT', {
      expected: `the result that this lease delivered, ${resultBlob}`,
      got: result.blob,
      rule,
      action: 'Commit the result that was delivered first, and no other.',
    });
  }

  /**
   * Signatures are checked outside of any transaction, under the key of this lease's appraised session or of another one.
   * @param others  whose receipts count too
   */
  private async checkAll(
    principal: Principal,
    ref: LeaseRef,
    signed: readonly SignedStatement[],
    others: (manager: EntityManager, job: Job) => Promise<readonly Signer[]>,
    isVouched?: (held: Held) => Promise<boolean>,
  ): Promise<CheckedReceipt[]> {
    const read = async ({ manager, job: held, lease }: Held) => {
      const verdict = await manager.findOneBy(Verdict, { leaseId: lease.id });
      const isEntrusted = verdict === null && held.assurance !== 'tee';
      const own = { leaseId: lease.id, receiptKey: verdict && keyOf(verdict) };
      return { job: held, own, isProved: isEntrusted, counting: await others(manager, held) };
    };
    const { job, own, isProved, counting } = await this.leases.hold(principal, ref, read, isVouched);
    if (own.receiptKey === null && !isProved) {
      throw refusal('RECEIPT_KEY_UNKNOWN', { expected: 'a session whose evidence was accepted', got: 'none', rule });
    }
    const checked: CheckedReceipt[] = [];
    for (const statement of signed) checked.push(await checkReceipt(job, statement, own, counting));
    return checked;
  }

  /** As `checkAll`: outside of any transaction, under the keys of all sessions that were given the job. */
  private async checkEvaluations(
    principal: Principal,
    message: LeaseDeliver,
    isVouched: (held: Held) => Promise<boolean>,
  ): Promise<void> {
    const read = async ({ manager, job: held }: Held) => {
      const signers = await signersOf(manager, held);
      return { job: held, keys: new Set(signers.map(({ receiptKey }) => to0x(receiptKey))) };
    };
    const { job, keys } = await this.leases.hold(principal, message, read, isVouched);
    await checkEvaluations(job, message, keys);
  }

  /**
   * Adds receipts in order. One that is stored already must say the same: a step has one true result. Where several sessions
   * signed it, the one whose run is delivered stands in the bundle, for its seal names no other; what no enclave signed
   * takes nobody's place.
   */
  private async append(
    { manager, job, lease }: Held,
    checked: readonly CheckedReceipt[],
    of: 'checkpoint' | 'delivery',
  ): Promise<void> {
    for (const { leaseId, statement, statementBytes, receiptBytes } of checked) {
      const stepFrom = String(statement.stepFrom);
      const earlier = await manager.findOneBy(Receipt, { jobId: job.id, stepFrom });
      if (earlier !== null) {
        if (!earlier.statement.equals(statementBytes)) throw conflict(statement);
        const isOther = receiptBytes.length > 0 && !earlier.receipt.equals(receiptBytes);
        const shown = { leaseId, fence: lease.fence, receipt: receiptBytes };
        if (isOther && of === 'delivery') await manager.update(Receipt, { jobId: job.id, stepFrom }, shown);
        continue;
      }
      checkFollows(await this.lastStatement(manager, job), statement);
      if (isRound(statement)) await checkStoredPartials(manager, job, statement);
      await manager.insert(Receipt, {
        jobId: job.id,
        stepFrom,
        stepTo: String(statement.stepFrom + statement.stepCount),
        leaseId,
        fence: lease.fence,
        statement: statementBytes,
        receipt: receiptBytes,
        createdAt: this.clock.now(),
      });
    }
  }

  private async lastStatement(manager: EntityManager, job: Job): Promise<StepStatement | null> {
    const last = await manager.findOne(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'DESC' } });
    return last === null ? null : statementOf(openJob(job).spec, last.statement);
  }

  /** @throws Rejection DELIVERY_INCOMPLETE, DELIVERY_BORDERS, DELIVERY_EVALUATIONS */
  private async checkComplete({ manager, job }: Held, message: LeaseDeliver): Promise<void> {
    const { borders, run } = message;
    const rows = await manager.find(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'ASC' } });
    const done = rows.at(-1)?.stepTo ?? '0';
    const { spec } = openJob(job);
    const steps = deliveredSteps(spec, Number(job.steps), run);
    if (done !== String(steps)) {
      throw refusal('DELIVERY_INCOMPLETE', {
        expected: `receipts for all ${steps} steps`,
        got: `receipts up to step ${done}`,
        rule,
      });
    }
    const statements = rows.map((row) => statementOf(spec, row.statement));
    const expected = [statements[0]!.weightsBefore, ...statements.map((s) => s.weightsAfter)].map(to0x);
    const wrong = expected.findIndex((border, index) => border !== borders[index]);
    if (wrong < 0 && expected.length === borders.length) {
      const signers = await signersOf(manager, job);
      const keys = new Map(signers.map(({ leaseId, receiptKey }) => [leaseId, to0x(receiptKey)]));
      const segments = statements.map((statement, at) => ({ statement, signer: keys.get(rows[at]!.leaseId) ?? null }));
      return checkMeasured(message, segments);
    }
    throw refusal('DELIVERY_BORDERS', {
      expected: `${expected.length} borders, as in the receipts`,
      got: wrong < 0 ? `${borders.length} borders` : `another border ${wrong}`,
      rule,
    });
  }

  /** @throws Rejection DELIVERY_INCOMPLETE */
  private async checkProved(manager: EntityManager, job: Job): Promise<void> {
    const left = await this.proofs.left(manager, job);
    if (left === 0) return;
    const [expected, got] = ['a proof of every segment', `${left} segments without one`];
    throw refusal('DELIVERY_INCOMPLETE', { expected, got, rule, action: 'Prove them first.' });
  }
}

/** The job's sessions that were given its data key: those that its bundle shows. */
async function signersOf(manager: EntityManager, { id: jobId }: Job) {
  const keyed = new Set((await manager.findBy(KeyRelease, { jobId })).map(({ leaseId }) => leaseId));
  const verdicts = await manager.findBy(Verdict, { jobId });
  return verdicts.flatMap((verdict) => {
    const receiptKey = keyOf(verdict);
    return receiptKey !== null && keyed.has(verdict.leaseId) ? [{ leaseId: verdict.leaseId, receiptKey }] : [];
  });
}

/** Null where the evidence was refused. */
function keyOf({ receiptKey }: Verdict): Uint8Array | null {
  return receiptKey && new Uint8Array(receiptKey);
}

function overtaken(expected: string, got: string) {
  return refusal('DELIVERY_CONFLICT', {
    expected: `the delivery that the escrow has committed, ${expected}`,
    got,
    rule,
    action: 'Give the job up: another machine has committed its run, and only that one can be paid.',
  });
}

function gap(expected: string, got: string) {
  return refusal('CHECKPOINT_GAP', { expected, got, rule });
}

function conflict({ stepFrom, stepCount }: StepStatement) {
  return refusal('CHECKPOINT_CONFLICT', {
    expected: `the statement that is stored for steps ${stepFrom} to ${stepFrom + stepCount}`,
    got: 'another statement for the same steps',
    rule,
    action: 'Stop: exact training has one result.',
  });
}
