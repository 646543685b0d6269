/** Submission, reading and cancelling of jobs. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, IsNull, LessThan, QueryFailedError, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { Dataset, DatasetShard, DeliveryRecord, Job, Lease } from '#libs/persistence';
import { seesTenant, type Principal } from '../auth/principal.js';
import { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { OutboxRelay } from '../events/outbox-relay.js';
import type { EvidenceAppraiser } from '../evidence/evidence-appraiser.js';
import { decodeCursor, pageOf, type Page } from '../paging.js';
import { refusal } from '../problem/codes.js';
import { EscrowProjection } from '../settlement/escrow-projection.js';
import { CONFIG, EVIDENCE_APPRAISER } from '../tokens.js';
import { JobJournal, unknownJob } from './journal.js';
import { jobView, type JobView } from './job.view.js';
import type { JobState } from './state-machine.js';
import { checkDataset, checkSubmission, hex, type CheckedSubmission, type Submission } from './submission.js';

export interface NewJob extends Submission {
  readonly brokerUrl: string;
  readonly idempotencyKey: string;
}

export interface JobFilter {
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly state?: JobState | undefined;
}

const uniqueViolation = '23505';

@Injectable()
export class Jobs {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(EVIDENCE_APPRAISER) private readonly appraiser: EvidenceAppraiser,
  ) {}

  /** @throws Rejection of `checkSubmission`, JOB_DATASET_*, JOB_DUPLICATE */
  async submit(principal: Principal, input: NewJob): Promise<JobView> {
    const checked = checkSubmission(input, this.appraiser, this.config.chain, this.clock.at());
    try {
      const job = await this.database.transaction((manager) => this.insert(manager, principal, input, checked));
      this.relay.kick();
      return jobView(job);
    } catch (error) {
      const code = error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
      throw code === uniqueViolation ? duplicate(checked.jobId) : error;
    }
  }

  async find(principal: Principal, id: string): Promise<Job> {
    const job = await this.database.manager.findOneBy(Job, { id });
    if (job === null || !seesTenant(principal, job.tenant)) throw unknownJob();
    return job;
  }

  async list(principal: Principal, filter: JobFilter): Promise<Page<JobView>> {
    const where: FindOptionsWhere<Job> = {
      ...(principal.role === 'admin' ? {} : { tenant: principal.tenant }),
      ...(filter.state === undefined ? {} : { state: filter.state }),
      ...(filter.cursor === undefined ? {} : { seq: LessThan(decodeCursor(filter.cursor)) }),
    };
    const rows = await this.database.manager.find(Job, { where, order: { seq: 'DESC' }, take: filter.limit + 1 });
    return pageOf(rows, filter.limit, (job) => job.seq, jobView);
  }

  /** Asking again for what is already cancelled is not a fault. @throws Rejection JOB_UNKNOWN, JOB_STATE */
  async cancel(principal: Principal, id: string): Promise<JobView> {
    await this.find(principal, id);
    const job = await this.database.transaction(async (manager) => {
      const locked = await this.journal.lock(manager, id);
      if (locked.state === 'cancelled') return locked;
      if (locked.escrowState === 'started' || locked.escrowState === 'committed') throw underWay(locked);
      const cause = { actor: principal.keyId, tenant: principal.tenant, code: 'CANCELLED_BY_CLIENT' };
      const { leaseId } = locked;
      await this.journal.apply(manager, locked, 'cancel', cause, { leaseId: null });
      if (leaseId !== null) {
        const ended = { state: 'cancelled' as const, endedAt: this.clock.now(), endCode: cause.code };
        await manager.update(Lease, { id: leaseId, state: 'active' }, ended);
      }
      return locked;
    });
    this.relay.kick();
    return jobView(job);
  }

  /** @returns SHA-256 of the result's ciphertext. @throws Rejection JOB_RESULT_PENDING */
  async resultBlob(principal: Principal, id: string): Promise<string> {
    const job = await this.find(principal, id);
    const delivery = await this.database.manager.findOneBy(DeliveryRecord, { jobId: job.id });
    if (delivery === null) {
      throw refusal('JOB_RESULT_PENDING', {
        expected: 'a delivered job',
        got: job.state,
        rule: 'control-plane README, job states',
        action: 'Wait until the job is delivered.',
      });
    }
    return delivery.resultBlob;
  }

  private async insert(
    manager: EntityManager,
    principal: Principal,
    input: NewJob,
    checked: CheckedSubmission,
  ): Promise<Job> {
    const earlier = await manager.findOneBy(Job, { id: checked.jobId });
    if (earlier !== null) {
      if (earlier.tenant === principal.tenant && earlier.idempotencyKey === input.idempotencyKey) return earlier;
      throw duplicate(checked.jobId);
    }
    await this.checkStoredDataset(manager, principal, checked);
    const job = this.rowOf(principal, input, checked);
    await manager.insert(Job, job as object);
    await this.journal.record(manager, job.id, 'state', {
      from: null,
      to: 'submitted',
      attempt: 1,
      fence: 0,
      code: job.code,
      reason: null,
    });
    await this.journal.audit(manager, { actor: principal.keyId, tenant: principal.tenant }, 'job.submit', job.id);
    await this.projection.project(manager, await this.journal.lock(manager, job.id));
    return manager.findOneByOrFail(Job, { id: job.id });
  }

  private async checkStoredDataset(
    manager: EntityManager,
    principal: Principal,
    checked: CheckedSubmission,
  ): Promise<void> {
    const id = hex(checked.spec.dataset.id);
    const rule = 'control-plane README, submission';
    const dataset = await manager.findOneBy(Dataset, { id, tenant: principal.tenant });
    if (dataset === null) {
      const action = 'Register the data set first.';
      throw refusal('JOB_DATASET_UNKNOWN', { expected: 'a data set of this tenant', got: id, rule, action });
    }
    checkDataset(checked, dataset);
    const missing = await manager.countBy(DatasetShard, { datasetId: id, uploadedAt: IsNull() });
    if (missing > 0) {
      const got = `${missing} shards not uploaded`;
      throw refusal('JOB_DATASET_INCOMPLETE', { expected: 'every shard uploaded', got, rule, action: 'Upload them.' });
    }
  }

  private rowOf(principal: Principal, input: NewJob, { jobId, spec, manifest, terms }: CheckedSubmission): Job {
    const at = this.clock.now();
    return Object.assign(new Job(), {
      id: jobId,
      tenant: principal.tenant,
      state: 'submitted',
      code: 'ESCROW_MISSING',
      reason: null,
      escrowId: terms.escrowId,
      spec: Buffer.from(input.spec),
      terms: input.terms,
      provider: terms.provider,
      policy: Buffer.from(input.policy),
      assurance: spec.assurance,
      brokerUrl: input.brokerUrl,
      datasetId: hex(spec.dataset.id),
      steps: String(manifest.steps),
      attempt: 1,
      fence: 0,
      leaseId: null,
      escrowState: 'none',
      funded: false,
      progress: null,
      settlementTransaction: null,
      acceptByAt: new Date(terms.acceptBy * 1000),
      deadlineAt: new Date(terms.commitBy * 1000),
      idempotencyKey: input.idempotencyKey,
      createdAt: at,
      updatedAt: at,
    });
  }
}

/** Once the provider is at work on chain, only the chain ends the job: the client would pay for what is thrown away. */
function underWay({ escrowState }: Job) {
  return refusal('JOB_STATE', {
    expected: 'a job whose escrow has not started',
    got: `an escrow that is ${escrowState}`,
    rule: 'control-plane README, job states',
    action: 'Wait until the escrow has ended.',
  });
}

function duplicate(jobId: string) {
  return refusal('JOB_DUPLICATE', {
    expected: 'a job and an escrow that were not submitted before',
    got: jobId,
    rule: 'control-plane README, submission',
    action: 'Choose another salt to run the same job again.',
  });
}
