/** What workers of a data-parallel job report: a session, progress, a partial, that they give up. */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { CodedError, fromHex } from '#attestation/base';
import { checkPartial, parseStepStatement, partialOf, verifyReceipt, type StepStatement } from '#attestation/records';
import { BlobRecord, Job, Receipt, Worker, WorkerSegment } from '#libs/persistence';
import { manifestDigest } from '#libs/step';
import type {
  Acknowledged,
  SegmentDeliver,
  SegmentFail,
  SegmentHeld,
  SegmentJoin,
  SegmentJoined,
  SegmentProgress,
} from '#libs/wire';
import { isOpen, requireProvider, roundOf, SegmentStore } from '../claims/segment-store.js';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { dispatchTopic, jobTopic, Signals } from '../core/timing/signals.js';
import { checkGrantTime, checkRelease, releaseColumns } from '../evidence/release-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { Presences } from '../nodes/presences.js';
import { attestedUntil, requireFresh } from './freshness.js';
import { refusedWorker, unknownWorker } from './worker-renewals.js';

const rule = 'apps/control-plane/README.md, rounds';

@Injectable()
export class SegmentReports {
  constructor(
    private readonly database: DataSource,
    private readonly store: SegmentStore,
    private readonly presences: Presences,
    private readonly journal: JobJournal,
    private readonly signals: Signals,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
  ) {}

  /** @throws Rejection PARALLEL_PROVIDER, JOB_STATE, WORKER_REFUSED, RELEASE_SIGNATURE, RELEASE_TIME, SEAL_SIGNATURE */
  async join(principal: Principal, message: SegmentJoin): Promise<SegmentJoined> {
    const { nodeId, jobId } = message;
    const { node } = await this.presences.of(principal, nodeId);
    const job = await this.store.job(jobId);
    requireProvider(job, node);
    if (job.parallel < 2 || !isOpen(job)) throw notParallel(job);
    const evidence = Buffer.from(message.evidence, 'base64');
    const again = await joined(this.database.manager, { jobId, nodeId, evidence });
    if (again !== undefined) return { workerId: again };
    const at = this.clock.at();
    const { chainId } = openJob(job).spec.settlement;
    const bound = { provider: node.provider, chainId };
    const endorsements = Buffer.from(message.endorsements, 'base64');
    const shown = { evidence, endorsements, policy: job.policy, bound };
    const { receiptKey, tier, devices } = await this.judge.appraise(shown, at);
    if (receiptKey === null) throw refusedWorker(tier);
    checkRelease(job, evidence, message.release);
    checkGrantTime(message.release.release, at);
    const worker = {
      ...{ id: randomUUID(), jobId, nodeId, evidence, receiptKey: Buffer.from(receiptKey), at: String(at) },
      ...releaseColumns(message.release),
      ...{ attestedUntil: attestedUntil(message.release.release.notAfter), devices: [...devices] },
    };
    return this.database.transaction(async (manager) => {
      await this.journal.lock(manager, jobId);
      // The same message may have come again while this one was judged.
      const meanwhile = await joined(manager, { jobId, nodeId, evidence });
      if (meanwhile !== undefined) return { workerId: meanwhile };
      await manager.insert(Worker, { ...worker, endorsements: await keepEndorsements(manager, endorsements) });
      return { workerId: worker.id };
    });
  }

  async progress(principal: Principal, message: SegmentProgress): Promise<SegmentHeld> {
    const { jobId, index, step, loss = null, accuracy = null, samplesPerSecond = null } = message;
    try {
      await this.store.hold(principal, message, async (manager, job, { fence }) => {
        const expiresAt = this.store.expiry();
        const claim = { jobId, index, fence };
        await manager.update(WorkerSegment, claim, { expiresAt });
        const place = placeOf(job, index);
        const figures = { step, of: place.segmentSteps, loss, accuracy, samplesPerSecond };
        await this.journal.record(manager, jobId, 'training', { ...place, ...figures, nodeId: message.nodeId });
      });
    } catch (error) {
      if (error instanceof CodedError && error.code === 'LEASE_FENCED') return { held: false };
      throw error;
    }
    this.signals.raise(jobTopic(jobId));
    return { held: true };
  }

  /** @throws Rejection LEASE_FENCED, WORKER_UNKNOWN, ATTESTATION_LAPSED, BLOB_UNKNOWN, ROUND_PARTIALS, STATEMENT_*, RECEIPT_*, COSE_* */
  async deliver(principal: Principal, message: SegmentDeliver): Promise<Acknowledged> {
    const { jobId, index, blob, workerId } = message;
    const [statement, receipt] = [message.statement, message.receipt].map((text) => Buffer.from(text, 'base64'));
    const { expected, receiptKey } = await this.store.hold(principal, message, async (manager, job, row) => {
      const worker = await manager.findOneBy(Worker, { id: workerId, jobId, nodeId: row.nodeId });
      if (worker === null) throw unknownWorker(workerId);
      requireFresh(worker, this.clock.now());
      if (!(await manager.existsBy(BlobRecord, { sha256: blob, tenant: principal.tenant }))) throw unknownBlob(blob);
      return { expected: await expectedPartial(manager, job, index), receiptKey: worker.receiptKey };
    });
    const said = parseStepStatement(new Uint8Array(statement!));
    checkPartial(expected, said, `segment ${index}`);
    await verifyReceipt(new Uint8Array(receipt!), said, new Uint8Array(receiptKey));
    await this.store.hold(principal, message, async (manager, job, row) => {
      if (row.doneAt !== null) return;
      const doneAt = this.clock.now();
      const done = { workerId, statement, receipt, blob, doneAt } as const;
      await manager.update(WorkerSegment, { jobId, index, fence: row.fence }, done as object);
      const { nodeId } = message;
      await this.journal.record(manager, jobId, 'segment', { ...placeOf(job, index), nodeId, done: true });
    });
    for (const topic of [jobTopic(jobId), dispatchTopic]) this.signals.raise(topic);
    return {};
  }

  async fail(principal: Principal, message: SegmentFail): Promise<Acknowledged> {
    const { jobId, index, code, detail } = message;
    await this.store.hold(principal, message, async (manager, job, row) => {
      if (row.doneAt !== null) return;
      const expiresAt = new Date(this.clock.now().getTime() - 1);
      await manager.update(WorkerSegment, { jobId, index, fence: row.fence }, { expiresAt });
      await this.journal.record(manager, jobId, 'segment-failed', {
        ...placeOf(job, index),
        code,
        detail,
        saidBy: 'node',
      });
    });
    for (const topic of [jobTopic(jobId), dispatchTopic]) this.signals.raise(topic);
    return {};
  }
}

/** @returns id of the worker that joined with this evidence */
async function joined(
  manager: EntityManager,
  { jobId, nodeId, evidence }: Pick<Worker, 'jobId' | 'nodeId' | 'evidence'>,
): Promise<string | undefined> {
  const earlier = await manager.findBy(Worker, { jobId, nodeId });
  return earlier.find((row) => row.evidence.equals(evidence))?.id;
}

function placeOf(job: Job, index: number) {
  const { workers, segmentSteps } = openJob(job).division;
  return { round: Math.floor(index / workers), worker: index % workers, index, segmentSteps };
}

/** From the end of the round before, which its receipt names. @throws Rejection LEASE_FENCED */
async function expectedPartial(
  manager: EntityManager,
  job: Job,
  index: number,
): Promise<Omit<StepStatement, 'weightsAfter'>> {
  const { spec, number, step, workers } = await roundOf(manager, job);
  if (Math.floor(index / workers) !== number) throw otherRound(number, index);
  const before = await manager.findOne(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'DESC' } });
  const weightsBefore =
    before === null
      ? openJob(job).terms.initialWeights
      : parseStepStatement(new Uint8Array(before.statement.subarray(0, 224))).weightsAfter;
  const round = {
    ...{ jobId: fromHex(job.id), programDigest: manifestDigest(openJob(job).manifest) },
    ...{ datasetRoot: spec.dataset.root, stepFrom: step, stepCount: workers * spec.segmentSteps },
    ...{ weightsBefore, weightsAfter: weightsBefore },
  };
  return partialOf(spec, round, index % workers);
}

function otherRound(number: number, index: number) {
  const [expected, got] = [`a segment of round ${number}`, `segment ${index}`];
  return refusal('LEASE_FENCED', { expected, got, rule, action: 'Ask for a segment of the round at hand.' });
}

function notParallel({ state, parallel }: Job) {
  const [expected, got] = ['a data-parallel job that goes on', `${parallel} workers, ${state}`];
  return refusal('JOB_STATE', { expected, got, rule });
}

function unknownBlob(got: string) {
  const expected = 'a blob that this operator uploaded';
  return refusal('BLOB_UNKNOWN', {
    expected,
    got,
    rule: 'apps/control-plane/README.md, blobs',
    action: 'Upload it first.',
  });
}
