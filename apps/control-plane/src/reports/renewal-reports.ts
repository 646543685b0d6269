/** Re-attestation of a session at work: appraised again here, prolonged as far as the key broker's word goes, recorded. */
import { Inject, Injectable } from '@nestjs/common';
import { Job, NodeRecord, Renewal, Verdict, Worker } from '#libs/persistence';
import type { Metrics } from '#libs/telemetry';
import type { AppraisalAnswer, LeaseRenewed } from '#libs/wire';
import { actor, LeaseStore, type Held } from '../claims/lease-store.js';
import type { Principal } from '../core/auth/principal.js';
import { METRICS } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { jobTopic, Signals } from '../core/timing/signals.js';
import type { EvidenceVerdict } from '../evidence/evidence-appraiser.js';
import { checkGrantTime } from '../evidence/release-check.js';
import { checkRenewal, nonceUsed, renewalColumns, type RenewedEvidence } from '../evidence/renewal-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { nextState, type JobState } from '../jobs/state-machine.js';
import { attestedUntil, staleRenewal } from './freshness.js';

@Injectable()
export class RenewalReports {
  constructor(
    private readonly leases: LeaseStore,
    private readonly journal: JobJournal,
    private readonly signals: Signals,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  /**
   * Appraises outside of any transaction. That the session was kept fresh without a gap is the broker's to judge: its
   * signature counts here even where this renewal was reported late.
   *
   * @throws Rejection JOB_STATE, RENEWAL_SESSION, RENEWAL_NONCE, RENEWAL_STALE, RELEASE_SIGNATURE, RELEASE_TIME,
   *   SEAL_SIGNATURE
   */
  async renewed(principal: Principal, message: LeaseRenewed): Promise<AppraisalAnswer> {
    const before = await this.leases.hold(principal, message, (held) => this.check(held, message));
    if (before.earlier !== null) return before.earlier;
    const { policy, bound, renewal } = before;
    const at = this.clock.at();
    checkGrantTime(message.lease, at);
    const [evidence, endorsements] = [Buffer.from(renewal.evidence), Buffer.from(message.endorsements, 'base64')];
    const verdict = await this.judge.appraise({ evidence, endorsements, policy, bound }, at);
    const answer = await this.leases.hold(principal, message, async (held) => {
      const { earlier } = await this.check(held, message, renewal);
      return earlier ?? this.store(principal, held, message, renewal, verdict, at);
    });
    this.signals.raise(jobTopic(before.jobId));
    return answer;
  }

  /** @param checked  the same message's evidence, for what it is held against never changes */
  private async check(held: Held, message: LeaseRenewed, checked?: RenewedEvidence) {
    const { manager, job, lease } = held;
    const { evidence } = await manager.findOneByOrFail(Verdict, { leaseId: lease.id });
    const renewal = checked ?? checkRenewal(job, evidence, message);
    const row = await manager.findOneBy(Renewal, { leaseId: lease.id, nonce: renewal.nonce });
    if (row !== null && !row.evidence.equals(renewal.evidence)) throw nonceUsed(renewal.nonce);
    const earlier: AppraisalAnswer | null =
      row === null ? null : { tier: row.tier, checks: row.checks as AppraisalAnswer['checks'] };
    if (earlier === null) this.requireLater(held, message);
    const { provider } = await manager.findOneByOrFail(NodeRecord, { id: lease.nodeId });
    const { chainId } = openJob(job).spec.settlement;
    return { earlier, jobId: job.id, policy: job.policy, bound: { provider, chainId }, renewal };
  }

  /** @throws Rejection JOB_STATE, RENEWAL_STALE */
  private requireLater({ job }: Held, { lease: renewed }: LeaseRenewed): void {
    if (job.state !== 'keyed') nextState(job.state as JobState, 'deliver');
    const until = attestedUntil(renewed.notAfter);
    const isLater = job.attestedUntil === null || until > job.attestedUntil;
    if (!isLater || until <= this.clock.now()) throw staleRenewal(job.attestedUntil, until);
  }

  private async store(
    principal: Principal,
    held: Held,
    message: LeaseRenewed,
    renewal: RenewedEvidence,
    verdict: EvidenceVerdict,
    at: number,
  ): Promise<AppraisalAnswer> {
    const { manager, job, lease } = held;
    const { tier, checks, receiptKey } = verdict;
    const endorsements = await keepEndorsements(manager, Buffer.from(message.endorsements, 'base64'));
    const columns = renewalColumns(message, renewal, verdict, at, endorsements);
    await manager.insert(Renewal, { leaseId: lease.id, jobId: job.id, ...columns });
    const cause = { ...actor(principal), ...(receiptKey === null && { code: 'ATTESTATION_REFUSED' }) };
    await this.journal.audit(manager, cause, 'job.renew', job.id);
    this.metrics.renewals.inc({ outcome: tier });
    if (receiptKey === null) {
      const failed = checks.filter((check) => check.status !== 'met' && check.status !== 'warned');
      const reason = { tier, nodeId: lease.nodeId, checks: failed.slice(0, 20) };
      const ending = { state: 'refused', retry: true, code: 'ATTESTATION_REFUSED', reason } as const;
      await this.leases.end(held, ending, actor(principal));
      return { tier, checks };
    }
    const until = attestedUntil(message.lease.notAfter);
    await manager.update(Job, { id: job.id }, { attestedUntil: until, updatedAt: this.clock.now() });
    // Whoever leads a data-parallel job works on its segments too, in the same session.
    const asWorker = { jobId: job.id, nodeId: lease.nodeId, receiptKey: Buffer.from(receiptKey) };
    if (job.parallel > 1) await manager.update(Worker, asWorker, { attestedUntil: until });
    const data = { tier, attestedUntil: until.toISOString(), nodeId: lease.nodeId, fence: lease.fence };
    await this.journal.record(manager, job.id, 'renewed', data);
    return { tier, checks };
  }
}
