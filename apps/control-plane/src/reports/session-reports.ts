/** What a node reports about the session of its enclave: evidence, key release, start, progress, failure. */
import { Injectable } from '@nestjs/common';
import { Job, KeyRelease, NodeRecord, Verdict } from '#libs/persistence';
import type {
  Acknowledged,
  AppraisalAnswer,
  LeaseAttested,
  LeaseEntrusted,
  LeaseEvaluation,
  LeaseFail,
  LeaseKeyed,
  LeaseProgress,
  LeaseRef,
} from '#libs/wire';
import { actor, LeaseStore, type Held } from '../claims/lease-store.js';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { jobTopic, Signals } from '../core/timing/signals.js';
import type { EvidenceVerdict } from '../evidence/evidence-appraiser.js';
import { keepProverKey } from '../evidence/prover-keys.js';
import { checkGrantTime, checkRelease, releaseColumns } from '../evidence/release-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { nextState, type JobState, type JobTrigger } from '../jobs/state-machine.js';
import { attestedUntil } from './freshness.js';

/** What a node reports when its session's renewal was refused. */
const refusedRenewal = 'ATTESTATION_REFUSED';

@Injectable()
export class SessionReports {
  constructor(
    private readonly leases: LeaseStore,
    private readonly journal: JobJournal,
    private readonly signals: Signals,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
  ) {}

  /** Appraises outside of any transaction; the verdict is stored whatever it says. */
  async attested(principal: Principal, message: LeaseAttested): Promise<AppraisalAnswer> {
    const [evidence, endorsements] = [message.evidence, message.endorsements].map(bytesOf) as [Buffer, Buffer];
    const before = await this.leases.hold(principal, message, async (held) => {
      const earlier = await this.earlierVerdict(held, evidence);
      if (earlier === null) nextState(held.job.state as JobState, 'attest');
      const { provider } = await held.manager.findOneByOrFail(NodeRecord, { id: held.lease.nodeId });
      const { chainId } = openJob(held.job).spec.settlement;
      return { earlier, policy: held.job.policy, bound: { provider, chainId } };
    });
    if (before.earlier !== null) return before.earlier;
    const at = this.clock.at();
    const { policy, bound } = before;
    const verdict = await this.judge.appraise({ evidence, endorsements, policy, bound }, at);
    return this.leases.hold(principal, message, async (held) => {
      // The same message may have come again while this one was judged.
      const meanwhile = await this.earlierVerdict(held, evidence);
      if (meanwhile !== null) return meanwhile;
      const kept = await keepEndorsements(held.manager, endorsements);
      return this.store(principal, held, { evidence, endorsements: kept, at: String(at) }, verdict);
    });
  }

  /** @throws Rejection RELEASE_SIGNATURE, RELEASE_TIME, SEAL_SIGNATURE */
  async keyed(principal: Principal, message: LeaseKeyed): Promise<Acknowledged> {
    return this.advance(principal, message, 'key', async ({ manager, job, lease }) => {
      const { evidence, at } = await manager.findOneByOrFail(Verdict, { leaseId: lease.id });
      checkRelease(job, evidence, message.release);
      checkGrantTime(message.release.release, Number(at));
      const columns = releaseColumns(message.release);
      await manager.insert(KeyRelease, { leaseId: lease.id, jobId: job.id, ...columns, createdAt: this.clock.now() });
      return { attestedUntil: attestedUntil(message.release.release.notAfter) };
    });
  }

  /** Without a TEE there is nothing to appraise: the steps of the job are proved instead. @throws Rejection JOB_ASSURANCE */
  async entrusted(principal: Principal, message: LeaseEntrusted): Promise<Acknowledged> {
    return this.advance(principal, message, 'entrust', async ({ manager, job, lease }) => {
      const { capabilities } = await manager.findOneByOrFail(NodeRecord, { id: lease.nodeId });
      if (job.assurance !== 'tee' && capabilities['tee'] === 'none') {
        await keepProverKey(manager, job.id, message.logged, this.clock.now());
        return { attestedUntil: null };
      }
      throw refusal('JOB_ASSURANCE', {
        expected: 'a job whose steps are proved, at a node without a TEE',
        got: `assurance ${job.assurance} at a node with ${String(capabilities['tee'])}`,
        rule: 'apps/control-plane/README.md, proofs',
      });
    });
  }

  async running(principal: Principal, message: LeaseRef): Promise<Acknowledged> {
    return this.advance(principal, message, 'run', async () => ({}));
  }

  async progress(principal: Principal, message: LeaseProgress): Promise<Acknowledged> {
    const jobId = await this.leases.hold(principal, message, async ({ manager, job }) => {
      nextState(job.state as JobState, 'deliver');
      const { step, of, loss = null, accuracy = null, samplesPerSecond = null, edges = null } = message;
      const progress = { step, of, loss, accuracy, samplesPerSecond, edges, at: this.clock.now().toISOString() };
      await manager.update(Job, { id: job.id }, { progress: progress as object, updatedAt: this.clock.now() });
      await this.journal.record(manager, job.id, 'progress', progress);
      return job.id;
    });
    this.signals.raise(jobTopic(jobId));
    return {};
  }

  /** The node's word, for whoever watches; what shows it comes with the delivery. */
  async evaluation(principal: Principal, { step, metrics, ...ref }: LeaseEvaluation): Promise<Acknowledged> {
    const jobId = await this.leases.hold(principal, ref, async ({ manager, job }) => {
      nextState(job.state as JobState, 'deliver');
      await this.journal.record(manager, job.id, 'evaluation', { step, metrics });
      return job.id;
    });
    this.signals.raise(jobTopic(jobId));
    return {};
  }

  async fail(principal: Principal, message: LeaseFail): Promise<Acknowledged> {
    const { code, detail, step = null, tensor = null, retry } = message;
    return this.leases.hold(principal, message, async (held) => {
      const reason = { saidBy: 'node', detail, step, tensor, nodeId: held.lease.nodeId };
      // The broker will have nothing more to do with that session: the job goes to another node.
      const state = code === refusedRenewal ? 'refused' : 'failed';
      await this.leases.end(held, { state, retry, code, reason }, actor(principal));
      return {};
    });
  }

  /** A repeated report finds the job where it already is and changes nothing. */
  private advance(
    principal: Principal,
    ref: LeaseRef,
    trigger: JobTrigger & ('key' | 'entrust' | 'run'),
    store: (held: Held) => Promise<Partial<Job>>,
  ): Promise<Acknowledged> {
    const reached = trigger === 'run' ? 'running' : 'keyed';
    return this.leases.hold(principal, ref, async (held) => {
      if (held.job.state === reached) return {};
      nextState(held.job.state as JobState, trigger);
      const changes = await store(held);
      await this.journal.apply(held.manager, held.job, trigger, actor(principal), changes);
      return {};
    });
  }

  private async earlierVerdict({ manager, lease }: Held, evidence: Buffer): Promise<AppraisalAnswer | null> {
    const row = await manager.findOneBy(Verdict, { leaseId: lease.id });
    if (row === null || !row.evidence.equals(evidence)) return null;
    return { tier: row.tier, checks: row.checks as AppraisalAnswer['checks'] };
  }

  private async store(
    principal: Principal,
    held: Held,
    shown: Pick<Verdict, 'evidence' | 'endorsements' | 'at'>,
    verdict: EvidenceVerdict,
  ): Promise<AppraisalAnswer> {
    const { manager, job, lease } = held;
    const { tier, checks, receiptKey, devices } = verdict;
    nextState(job.state as JobState, 'attest');
    await manager.insert(Verdict, {
      leaseId: lease.id,
      jobId: job.id,
      ...shown,
      tier,
      checks: checks as object,
      receiptKey: receiptKey === null ? null : Buffer.from(receiptKey),
      devices: [...devices],
    });
    if (receiptKey !== null) await this.journal.apply(manager, job, 'attest', actor(principal));
    else await this.refuse(principal, held, verdict);
    return { tier, checks };
  }

  /** The node is not asked again for this job; without another one to ask, the job is refused. */
  private async refuse(principal: Principal, held: Held, { tier, checks }: EvidenceVerdict): Promise<void> {
    const failed = checks.filter((check) => check.status !== 'met' && check.status !== 'warned');
    const reason = { tier, nodeId: held.lease.nodeId, checks: failed.slice(0, 20) };
    const code = failed[0]?.code ?? 'EVIDENCE_REFUSED';
    const { manager, job, lease } = held;
    await this.leases.close(manager, lease, 'refused', code);
    const retry = await this.leases.hasOtherNode(manager, job);
    await this.leases.end(held, { state: 'refused', retry, code, reason }, actor(principal));
  }
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}
