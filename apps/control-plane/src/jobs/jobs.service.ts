/** Submission and reading of jobs. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, LessThan, Like, MoreThan, MoreThanOrEqual, type FindOptionsWhere } from 'typeorm';
import { to0x } from '#attestation/base';
import { workersOf } from '#attestation/records';
import { BlobRecord, DeliveryRecord, Job } from '#libs/persistence';
import type { JobRequirements } from '#libs/wire';
import { isGlobal, seesTenant, type Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG, EVIDENCE_APPRAISER } from '../core/config/tokens.js';
import type { PendingReply } from '../core/idempotency/pending-reply.js';
import { graceSeconds } from '../core/objects/collector.js';
import { decodeCursor, pageOf, type Page } from '../core/paging.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { DatasetCache } from '../data/dataset-cache.js';
import { checkPriority } from './job-commands.js';
import { jobView, type JobView } from './job.view.js';
import { unknownJob } from './journal.js';
import { Placement } from './placement.js';
import { checkStart, type StoredPart } from './start-weights.js';
import type { JobState } from './state-machine.js';
import { datasetUnknown, SubmissionBatch } from './submission-batch.js';
import {
  checkDataset,
  checkSubmission,
  ownRequirements,
  type CheckedSubmission,
  type PolicyReader,
  type Submission,
} from './submission.js';

export interface NewJob extends Submission {
  readonly brokerUrl: string;
  readonly idempotencyKey: string;
  readonly priority: number;
  readonly requirements: JobRequirements;
  /** Blobs of the weights that it starts from, in order. */
  readonly start: readonly string[];
}

interface JobFilter {
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly state?: JobState | undefined;
  readonly assurance?: string | undefined;
  /** Submitted then or later. */
  readonly since?: Date | undefined;
  /** Beginning of an id, or a code. */
  readonly search?: string | undefined;
}

export const searchShape = /^(0x[0-9a-f]{1,64}|[A-Z][A-Z0-9_]{0,63})$/;

/** Nothing in such a text means more than itself to LIKE, but for `_`, of which no id has one. */
const foundBy = (search: string): FindOptionsWhere<Job> =>
  search.startsWith('0x') ? { id: Like(`${search}%`) } : { code: search };

@Injectable()
export class Jobs {
  constructor(
    private readonly database: DataSource,
    private readonly submissions: SubmissionBatch,
    private readonly datasets: DatasetCache,
    private readonly clock: Clock,
    private readonly placement: Placement,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(EVIDENCE_APPRAISER) private readonly policies: PolicyReader,
  ) {}

  /** @throws Rejection of `checkSubmission`, JOB_DATASET_*, JOB_START, JOB_DUPLICATE, JOB_PRIORITY, QUOTA_JOBS */
  async submit(principal: Principal, input: NewJob, reply: PendingReply | null = null): Promise<JobView> {
    checkPriority(principal, input.priority);
    const checked = checkSubmission(input, this.policies, this.config, this.clock.at());
    await this.checkStoredDataset(principal, checked);
    checkStart(checked.manifest, await this.startParts(principal, input.start));
    const job = this.rowOf(principal, input, checked);
    const unplaced = await this.placement.unplaced(job);
    const stored = await this.submissions.store({ principal, job, price: checked.terms.price, unplaced, reply });
    return { ...jobView(stored), unplaced };
  }

  /** One job, and where it waits, why no node takes it. */
  async view(principal: Principal, id: string): Promise<JobView> {
    const job = await this.find(principal, id);
    if (job.state !== 'submitted') return jobView(job);
    return { ...jobView(job), unplaced: await this.placement.unplaced(job) };
  }

  async find(principal: Principal, id: string): Promise<Job> {
    const job = await this.database.manager.findOneBy(Job, { id });
    if (job === null || !seesTenant(principal, job.tenant)) throw unknownJob();
    return job;
  }

  async list(principal: Principal, filter: JobFilter): Promise<Page<JobView>> {
    const { state, assurance, since, search, cursor } = filter;
    const where: FindOptionsWhere<Job> = {
      ...(isGlobal(principal) ? {} : { tenant: principal.tenant }),
      ...(state === undefined ? {} : { state }),
      ...(assurance === undefined ? {} : { assurance }),
      ...(since === undefined ? {} : { createdAt: MoreThanOrEqual(since) }),
      ...(search === undefined ? {} : foundBy(search)),
      ...(cursor === undefined ? {} : { seq: LessThan(decodeCursor(cursor)) }),
    };
    const rows = await this.database.manager.find(Job, { where, order: { seq: 'DESC' }, take: filter.limit + 1 });
    return pageOf(rows, filter.limit, (job) => job.seq, jobView);
  }

  /** @returns SHA-256 of the result's ciphertext. @throws Rejection JOB_RESULT_PENDING */
  async resultBlob(principal: Principal, id: string): Promise<string> {
    const job = await this.find(principal, id);
    const delivery = await this.database.manager.findOneBy(DeliveryRecord, { jobId: job.id });
    if (delivery === null) {
      throw refusal('JOB_RESULT_PENDING', {
        expected: 'a delivered job',
        got: job.state,
        rule: 'apps/control-plane/README.md, job states',
        action: 'Wait until the job is delivered.',
      });
    }
    return delivery.resultBlob;
  }

  private async checkStoredDataset(principal: Principal, checked: CheckedSubmission): Promise<void> {
    const id = to0x(checked.spec.dataset.id);
    const rule = 'apps/control-plane/README.md, submission';
    const dataset = await this.datasets.find(id);
    if (dataset?.tenant !== principal.tenant) throw datasetUnknown(id);
    checkDataset(checked, dataset.sealed);
    const missing = await this.datasets.missing(id);
    if (missing > 0) {
      const got = `${missing} shards not uploaded`;
      throw refusal('JOB_DATASET_INCOMPLETE', { expected: 'every shard uploaded', got, rule, action: 'Upload them.' });
    }
  }

  /** What is here of the named blobs; one that the collector may take before the job names it counts as not here. */
  private async startParts({ tenant }: Principal, names: readonly string[]): Promise<readonly StoredPart[]> {
    if (names.length === 0) return [];
    const since = new Date(this.clock.now().getTime() - (graceSeconds / 2) * 1000);
    const rows = await this.database.manager.findBy(BlobRecord, {
      ...{ tenant, sha256: In([...names]), createdAt: MoreThan(since) },
    });
    const bytes = new Map(rows.map((row) => [row.sha256, Number(row.bytes)]));
    return names.map((name) => ({ name, bytes: bytes.get(name) ?? null }));
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
      parallel: workersOf(spec),
      brokerUrl: input.brokerUrl,
      datasetId: to0x(spec.dataset.id),
      steps: String(manifest.steps),
      startBlobs: input.start.length === 0 ? null : [...input.start],
      attempt: 1,
      fence: 0,
      setbacks: 0,
      notBefore: null,
      leaseId: null,
      escrowState: 'none',
      funded: false,
      priority: input.priority,
      requirements: { ...input.requirements, ...ownRequirements({ spec, manifest }) },
      price: String(terms.price),
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
