/** Checkpoints while a job runs, and the delivery at its end. */
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { bordersRoot, deliveryDigest, fromHex, parseStepStatement, toHex, type StepStatement } from '#attestation';
import type { Acknowledged, LeaseCheckpoint, LeaseDeliver, LeaseRef, SignedStatement } from '#libs/messaging';
import { BlobRecord, Checkpoint, DeliveryRecord, Receipt, Verdict, type Job } from '#libs/persistence';
import type { Principal } from '../auth/principal.js';
import { Clock } from '../clock.js';
import { jobTopic, Signals } from '../events/signals.js';
import { JobJournal } from '../jobs/journal.js';
import { nextState, type JobState } from '../jobs/state-machine.js';
import { refusal } from '../problem/codes.js';
import { EscrowProjection } from '../settlement/escrow-projection.js';
import { actor, LeaseBook, type Held } from './lease-book.js';
import { checkFollows, checkReceipt, type CheckedReceipt } from './receipt-check.js';

const rule = 'control-plane README, checkpoints';
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

@Injectable()
export class TrainingReports {
  constructor(
    private readonly leases: LeaseBook,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly signals: Signals,
    private readonly clock: Clock,
  ) {}

  async checkpoint(principal: Principal, message: LeaseCheckpoint): Promise<Acknowledged> {
    const [checked] = await this.checkAll(principal, message, [message]);
    const { stepFrom, stepCount } = checked!.statement;
    if (stepFrom + stepCount !== message.step)
      throw gap(`a statement that ends at step ${message.step}`, `${stepFrom + stepCount}`);
    const jobId = await this.leases.hold(principal, message, async (held) => {
      const { manager, job, lease } = held;
      nextState(job.state as JobState, 'deliver');
      await this.checkBlob(manager, principal, message.blob);
      await this.append(held, [checked!]);
      const row = {
        jobId: job.id,
        step: String(message.step),
        fence: lease.fence,
        blob: message.blob,
        createdAt: this.clock.now(),
      };
      await manager.createQueryBuilder().insert().into(Checkpoint).values(row).orIgnore().execute();
      await this.journal.record(manager, job.id, 'checkpoint', { step: message.step, blob: message.blob });
      return job.id;
    });
    this.signals.raise(jobTopic(jobId));
    return {};
  }

  async deliver(principal: Principal, message: LeaseDeliver): Promise<Acknowledged> {
    const checked = await this.checkAll(principal, message, message.receipts);
    return this.leases.hold(principal, message, async (held) => {
      const { manager, job, lease } = held;
      if (lease.state === 'done') return {};
      nextState(job.state as JobState, 'deliver');
      await this.checkBlob(manager, principal, message.result.blob);
      await this.append(held, checked);
      await this.checkComplete(manager, job, message.borders);
      checkRun(message);
      const { auth: _auth, leaseId: _leaseId, fence: _fence, ...delivery } = message;
      await manager.insert(DeliveryRecord, {
        jobId: job.id,
        leaseId: lease.id,
        fence: lease.fence,
        delivery: delivery as object,
        resultBlob: message.result.blob,
        createdAt: this.clock.now(),
      });
      await this.leases.close(manager, lease, 'done', null);
      await this.journal.record(manager, job.id, 'delivery', { timings: message.timings });
      await this.journal.apply(manager, job, 'deliver', actor(principal), { leaseId: null });
      await this.projection.project(manager, job);
      return {};
    });
  }

  /** Signatures are checked outside of any transaction, under the key of this lease's appraised session. */
  private async checkAll(
    principal: Principal,
    ref: LeaseRef,
    signed: readonly SignedStatement[],
  ): Promise<CheckedReceipt[]> {
    const { job, receiptKey } = await this.leases.hold(principal, ref, async ({ manager, job: locked, lease }) => {
      const verdict = await manager.findOneBy(Verdict, { leaseId: lease.id });
      return { job: { id: locked.id, spec: locked.spec }, receiptKey: verdict?.receiptKey ?? null };
    });
    if (receiptKey === null) {
      throw refusal('RECEIPT_KEY_UNKNOWN', { expected: 'a session whose evidence was accepted', got: 'none', rule });
    }
    const checked: CheckedReceipt[] = [];
    for (const statement of signed) checked.push(await checkReceipt(job, statement, new Uint8Array(receiptKey)));
    return checked;
  }

  /** Adds receipts in order. One that is stored already must say the same: a step has one true result. */
  private async append({ manager, job, lease }: Held, checked: readonly CheckedReceipt[]): Promise<void> {
    for (const { statement, statementBytes, receiptBytes } of checked) {
      const stepFrom = String(statement.stepFrom);
      const earlier = await manager.findOneBy(Receipt, { jobId: job.id, stepFrom });
      if (earlier !== null) {
        if (!earlier.statement.equals(statementBytes)) throw conflict(statement);
        continue;
      }
      checkFollows(await this.lastStatement(manager, job.id), statement);
      await manager.insert(Receipt, {
        jobId: job.id,
        stepFrom,
        stepTo: String(statement.stepFrom + statement.stepCount),
        leaseId: lease.id,
        fence: lease.fence,
        statement: statementBytes,
        receipt: receiptBytes,
        createdAt: this.clock.now(),
      });
    }
  }

  private async lastStatement(manager: EntityManager, jobId: string): Promise<StepStatement | null> {
    const last = await manager.findOne(Receipt, { where: { jobId }, order: { stepFrom: 'DESC' } });
    return last === null ? null : parseStepStatement(new Uint8Array(last.statement));
  }

  /** @throws Rejection DELIVERY_INCOMPLETE, DELIVERY_BORDERS */
  private async checkComplete(manager: EntityManager, job: Job, borders: readonly string[]): Promise<void> {
    const rows = await manager.find(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'ASC' } });
    const done = rows.at(-1)?.stepTo ?? '0';
    if (done !== job.steps) {
      throw refusal('DELIVERY_INCOMPLETE', {
        expected: `receipts for all ${job.steps} steps`,
        got: `receipts up to step ${done}`,
        rule,
      });
    }
    const statements = rows.map((row) => parseStepStatement(new Uint8Array(row.statement)));
    const expected = [statements[0]!.weightsBefore, ...statements.map((s) => s.weightsAfter)].map(hex);
    const wrong = expected.findIndex((border, index) => border !== borders[index]);
    if (wrong < 0 && expected.length === borders.length) return;
    throw refusal('DELIVERY_BORDERS', {
      expected: `${expected.length} borders, as in the receipts`,
      got: wrong < 0 ? `${borders.length} borders` : `another border ${wrong}`,
      rule,
    });
  }

  private async checkBlob(manager: EntityManager, principal: Principal, sha256: string): Promise<void> {
    if (await manager.existsBy(BlobRecord, { sha256, tenant: principal.tenant })) return;
    throw refusal('BLOB_UNKNOWN', {
      expected: 'a blob that this operator uploaded',
      got: sha256,
      rule: 'control-plane README, blobs',
      action: 'Upload it first.',
    });
  }
}

/** @throws Rejection DELIVERY_RUN when the run that the seal covers is not the run of these borders and this result */
function checkRun({ run, borders, result }: LeaseDeliver): void {
  const root = hex(bordersRoot(borders.map(fromHex)));
  const segments = borders.length - 1;
  const delivery = hex(deliveryDigest(fromHex(result.blob), fromHex(result.keyCommit)));
  const expected = { upTo: segments, outcome: 0, bordersRoot: root, last: borders[segments], delivery };
  const wrong = Object.entries(expected).find(([name, value]) => run[name as keyof typeof run] !== value);
  if (wrong === undefined) return;
  const [name, value] = wrong;
  throw refusal('DELIVERY_RUN', {
    expected: `${name} ${value}`,
    got: String(run[name as keyof typeof run]),
    rule: 'settlement §3, §12',
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
