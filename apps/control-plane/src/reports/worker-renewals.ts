/** Re-attestation of a worker's session: as a leaseholder's (renewal-reports.ts), but what it prolongs is the session alone. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Worker, WorkerRenewal, type Job } from '#libs/persistence';
import type { Metrics } from '#libs/telemetry';
import type { AppraisalAnswer, SegmentRenewed } from '#libs/wire';
import { actor } from '../claims/lease-store.js';
import type { Principal } from '../core/auth/principal.js';
import { METRICS } from '../core/config/tokens.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import type { EvidenceVerdict } from '../evidence/evidence-appraiser.js';
import { checkGrantTime } from '../evidence/release-check.js';
import { checkRenewal, nonceUsed, renewalColumns, type RenewedEvidence } from '../evidence/renewal-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { Presences } from '../nodes/presences.js';
import { attestedUntil, staleRenewal } from './freshness.js';

const rule = 'apps/control-plane/README.md, rounds';

/** Until when a session counts that the policy has refused. */
const never = new Date(0);

@Injectable()
export class WorkerRenewals {
  constructor(
    private readonly database: DataSource,
    private readonly presences: Presences,
    private readonly journal: JobJournal,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  /**
   * Nothing is taken any more of a session that the policy of the job refuses.
   * @throws Rejection WORKER_UNKNOWN, WORKER_REFUSED, RENEWAL_SESSION, RENEWAL_NONCE, RENEWAL_STALE, RELEASE_SIGNATURE,
   *   RELEASE_TIME, SEAL_SIGNATURE
   */
  async renewed(principal: Principal, message: SegmentRenewed): Promise<AppraisalAnswer> {
    const { node } = await this.presences.of(principal, message.nodeId);
    const locked = async <T>(work: (manager: EntityManager, job: Job) => Promise<T>): Promise<T> =>
      this.database.transaction(async (manager) => work(manager, await this.journal.lock(manager, message.jobId)));
    const { earlier, job, renewal } = await locked((manager, row) => this.check(manager, row, message));
    if (earlier !== null) return earlier;
    const { chainId } = openJob(job).spec.settlement;
    const bound = { provider: node.provider, chainId };
    const at = this.clock.at();
    checkGrantTime(message.lease, at);
    const [evidence, endorsements] = [Buffer.from(renewal.evidence), Buffer.from(message.endorsements, 'base64')];
    const verdict = await this.judge.appraise({ evidence, endorsements, policy: job.policy, bound }, at);
    return locked(async (manager, row) => {
      const { earlier: meanwhile } = await this.check(manager, row, message, renewal);
      return meanwhile ?? this.store(principal, manager, message, renewal, verdict, at);
    });
  }

  /** @param checked  the same message's evidence, for what it is held against never changes */
  private async check(manager: EntityManager, job: Job, message: SegmentRenewed, checked?: RenewedEvidence) {
    const { jobId, nodeId, workerId, lease } = message;
    const worker = await manager.findOneBy(Worker, { id: workerId, jobId, nodeId });
    if (worker === null) throw unknownWorker(workerId);
    if (worker.attestedUntil?.getTime() === never.getTime()) throw refusedWorker('one that was refused');
    const renewal = checked ?? checkRenewal(job, worker.evidence, message);
    const row = await manager.findOneBy(WorkerRenewal, { workerId, nonce: renewal.nonce });
    if (row !== null && !row.evidence.equals(renewal.evidence)) throw nonceUsed(renewal.nonce);
    const earlier: AppraisalAnswer | null =
      row === null ? null : { tier: row.tier, checks: row.checks as AppraisalAnswer['checks'] };
    const until = attestedUntil(lease.notAfter);
    const isLater = worker.attestedUntil === null || until > worker.attestedUntil;
    if (earlier === null && (!isLater || until <= this.clock.now())) throw staleRenewal(worker.attestedUntil, until);
    return { earlier, job, renewal };
  }

  private async store(
    principal: Principal,
    manager: EntityManager,
    message: SegmentRenewed,
    renewal: RenewedEvidence,
    verdict: EvidenceVerdict,
    at: number,
  ): Promise<AppraisalAnswer> {
    const { jobId, workerId, lease } = message;
    const { tier, checks, receiptKey } = verdict;
    const endorsements = await keepEndorsements(manager, Buffer.from(message.endorsements, 'base64'));
    const columns = renewalColumns(message, renewal, verdict, at, endorsements);
    await manager.insert(WorkerRenewal, { workerId, jobId, ...columns });
    const isRefused = receiptKey === null;
    const until = isRefused ? never : attestedUntil(lease.notAfter);
    await manager.update(Worker, { id: workerId }, { attestedUntil: until });
    const cause = { ...actor(principal), ...(isRefused && { code: 'ATTESTATION_REFUSED' }) };
    await this.journal.audit(manager, cause, 'worker.renew', jobId);
    this.metrics.renewals.inc({ outcome: tier });
    return { tier, checks };
  }
}

export function unknownWorker(got: string) {
  const expected = 'a session of this node that joined the job';
  return refusal('WORKER_UNKNOWN', { expected, got, rule, action: 'Join with its evidence first.' });
}

export function refusedWorker(got: string) {
  const expected = 'a session that the policy of the job accepts';
  return refusal('WORKER_REFUSED', { expected, got, rule, action: 'Read the policy of the job.' });
}
