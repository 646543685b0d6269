/** What workers of a data-parallel job report: a session, progress, a partial, that they give up. */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { fromHex } from '#attestation/base';
import { checkPartial, parseStepStatement, partialOf, type StepStatement, verifyReceipt } from '#attestation/records';
import { Job, Receipt, Worker } from '#libs/persistence';
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
import { requireProvider, roundOf, SegmentStore } from '../claims/segment-store.js';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { trainingClaims } from '../claims/claim-kinds.js';
import { ClaimStore } from '../claims/claim-store.js';
import { requireBlob } from '../data/own-blob.js';
import { checkGrantTime, checkRelease, releaseColumns } from '../evidence/release-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { Presences } from '../nodes/presences.js';
import { attestedUntil, requireFresh } from './freshness.js';
import { refusedWorker, unknownWorker } from './worker-renewals.js';

const { rule } = trainingClaims;

@Injectable()
export class SegmentReports {
  constructor(
    private readonly database: DataSource,
    private readonly claims: ClaimStore,
    private readonly store: SegmentStore,
    private readonly presences: Presences,
    private readonly journal: JobJournal,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
  ) {}

  /** @throws Rejection PARALLEL_PROVIDER, JOB_STATE, WORKER_REFUSED, RELEASE_SIGNATURE, RELEASE_TIME, SEAL_SIGNATURE */
  async join(principal: Principal, message: SegmentJoin): Promise<SegmentJoined> {
    const { nodeId, jobId } = message;
    const { node } = await this.presences.of(principal, nodeId);
    const job = await this.store.job(jobId);
    requireProvider(job, node);
    if (job.parallel < 2 || !trainingClaims.states.includes(job.state)) throw notParallel(job);
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

  progress(principal: Principal, message: SegmentProgress): Promise<SegmentHeld> {
    const { step, loss = null, accuracy = null, samplesPerSecond = null, edges = null } = message;
    return this.claims.progress(trainingClaims, principal, message, (job) => {
      return { step, of: openJob(job).division.segmentSteps, loss, accuracy, samplesPerSecond, edges };
    });
  }

  /** @throws Rejection LEASE_FENCED, WORKER_UNKNOWN, ATTESTATION_LAPSED, BLOB_UNKNOWN, ROUND_PARTIALS, STATEMENT_*, RECEIPT_*, COSE_* */
  async deliver(principal: Principal, message: SegmentDeliver): Promise<Acknowledged> {
    const { jobId, index, blob, workerId } = message;
    const statement = Buffer.from(message.statement, 'base64');
    const receipt = Buffer.from(message.receipt, 'base64');
    const { expected, receiptKey } = await this.claims.hold(
      trainingClaims,
      principal,
      message,
      async (manager, job) => {
        const worker = await manager.findOneBy(Worker, { id: workerId, jobId, nodeId: message.nodeId });
        if (worker === null) throw unknownWorker(workerId);
        requireFresh(worker, this.clock.now());
        await requireBlob(manager, principal, blob);
        return { expected: await expectedPartial(manager, job, index), receiptKey: worker.receiptKey };
      },
    );
    const said = parseStepStatement(new Uint8Array(statement));
    checkPartial(expected, said, `segment ${index}`);
    await verifyReceipt(new Uint8Array(receipt), said, new Uint8Array(receiptKey));
    const result = { workerId, statement, receipt, blob };
    return this.claims.finish(trainingClaims, principal, message, result, { done: true });
  }

  fail(principal: Principal, message: SegmentFail): Promise<Acknowledged> {
    return this.claims.fail(trainingClaims, principal, message);
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
