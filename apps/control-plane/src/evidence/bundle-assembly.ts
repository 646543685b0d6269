/** Puts together what shows a job, from what is stored. */
import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Not } from 'typeorm';
import { concatBytes, to0x } from '#attestation/base';
import {
  bundleDigest,
  encodeBundle,
  isFormerJson,
  parseBundledLog,
  type BundledLog,
  type BundledProof,
  type EvidenceBundle,
} from '#attestation/records';
import {
  DeliveryRecord,
  EndorsementSet,
  EscrowEventRecord,
  KeyRelease,
  LogOutboxEntry,
  Receipt,
  Renewal,
  SegmentProof,
  Verdict,
  Worker,
  WorkerRenewal,
  type Job,
} from '#libs/persistence';
import type { Delivery } from '#libs/wire';
import { ProofStore } from '../claims/proof-store.js';
import { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';
import { openJob } from '../jobs/open-job.js';
import { bundleOf } from './bundle-of.js';
import { formerBundleOf } from './former-bundle-of.js';
import { isSame, type StoredJob, type StoredSession } from './stored-job.js';
import { storedPartials } from './stored-partials.js';

@Injectable()
export class BundleAssembly {
  constructor(
    private readonly database: DataSource,
    private readonly blobs: BlobStore,
    private readonly store: ProofStore,
  ) {}

  /** @throws Rejection JOB_BUNDLE_PENDING before delivery */
  async assemble(job: Job): Promise<Uint8Array> {
    const bundle = await this.present(job);
    if (bundle === null) return encodeBundle(formerBundleOf(await this.read(job)));
    const log = await this.logOf(job.id, bundle);
    return encodeBundle({ ...bundle, ...(log !== null && { log }) });
  }

  /** Without its log; null for a job under former terms, whose bundles have none. @throws Rejection JOB_BUNDLE_PENDING */
  async present(job: Job): Promise<EvidenceBundle | null> {
    if (isFormerJson(job.terms)) return null;
    const stored = await this.read(job);
    return bundleOf(stored, await this.endorsements(stored.sessions));
  }

  /** Of this very bundle: while a changed one is not logged yet, there is none. */
  private async logOf(jobId: string, bundle: EvidenceBundle): Promise<BundledLog | null> {
    const where = { kind: 'job-bundle', subject: jobId, member: Not(IsNull()) };
    const row = await this.database.manager.findOne(LogOutboxEntry, { where, order: { id: 'DESC' } });
    if (row === null || row.bundle !== to0x(bundleDigest(bundle))) return null;
    return parseBundledLog(new Uint8Array(row.member!));
  }

  private async read(job: Job): Promise<StoredJob> {
    const { manager } = this.database;
    const jobId = job.id;
    const record = await manager.findOneBy(DeliveryRecord, { jobId });
    if (record === null) throw pending('a delivered job', job.state);
    const receipts = await manager.find(Receipt, { where: { jobId }, order: { stepFrom: 'ASC' } });
    const order = { blockNumber: 'ASC', logIndex: 'ASC' } as const;
    const events = await manager.find(EscrowEventRecord, { where: { escrowId: job.escrowId }, order });
    const delivery = record.delivery as unknown as Delivery;
    const leased = await this.leased(jobId);
    const workers = await this.workers(jobId);
    const sessions = [...leased, ...workers.filter((worker) => !leased.some((session) => isSame(session, worker)))];
    const proofs = job.assurance === 'tee' ? null : await this.proofs(job);
    const partials = await storedPartials(manager, jobId);
    return { job, record, delivery, receipts, sessions, workers, proofs, partials, events };
  }

  /** @throws Rejection JOB_BUNDLE_PENDING while a segment waits for its proof */
  private async proofs(job: Job): Promise<Map<number, BundledProof>> {
    const { segmentSteps } = openJob(job).spec;
    const rows = await this.database.manager.findBy(SegmentProof, { jobId: job.id });
    const proved = rows.flatMap(({ index, blob, document }) =>
      blob === null || document === null ? [] : [{ index, blob, document }],
    );
    const due = await this.store.due(this.database.manager, job);
    const done = proved.filter(({ index }) => due.has(index)).length;
    if (due.size === 0) throw pending('segments to be drawn, and proved', 'none drawn');
    if (done < due.size) throw pending(`proofs of ${due.size} segments`, `${done}`);
    const entries = proved.map(async ({ index, blob, document }) => {
      return [index * segmentSteps, { bytes: await this.bytesOf(blob), document }] as const;
    });
    return new Map(await Promise.all(entries));
  }

  private async bytesOf(blob: string): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.blobs.open(blob)) chunks.push(chunk as Uint8Array);
    return concatBytes(...chunks);
  }

  /** Sessions that were given the data key, in the order of their appraisal, each with its newest renewal behind it. */
  private async leased(jobId: string): Promise<StoredSession[]> {
    const { manager } = this.database;
    const releases = new Map((await manager.findBy(KeyRelease, { jobId })).map((row) => [row.leaseId, row]));
    const verdicts = await manager.find(Verdict, { where: { jobId }, order: { at: 'ASC', leaseId: 'ASC' } });
    const renewals = newestOf(await manager.find(Renewal, byEnd(jobId)), ({ leaseId }) => leaseId);
    return verdicts.flatMap((verdict) => {
      const row = releases.get(verdict.leaseId);
      if (row === undefined) return [];
      const first = { ...shownBy({ ...verdict, ...row }, verdict.leaseId), release: row.release, lease: null };
      return [first, ...(renewals.get(verdict.leaseId) ?? [])];
    });
  }

  private async workers(jobId: string): Promise<StoredSession[]> {
    const where = { where: { jobId }, order: { at: 'ASC', id: 'ASC' } } as const;
    const rows = await this.database.manager.find(Worker, where);
    const renewed = await this.database.manager.find(WorkerRenewal, byEnd(jobId));
    const renewals = newestOf(renewed, ({ workerId }) => workerId);
    return rows.flatMap((row) => [
      { ...shownBy(row, row.id), release: row.release, lease: null },
      ...(renewals.get(row.id) ?? []),
    ]);
  }

  private async endorsements(sessions: readonly StoredSession[]): Promise<Uint8Array[]> {
    const digests = [...new Set(sessions.flatMap(({ endorsements }) => endorsements ?? []))];
    const rows = await this.database.manager.findBy(EndorsementSet, { digest: In(digests) });
    const bytes = new Map(rows.map((row) => [row.digest, new Uint8Array(row.bytes)]));
    return digests.map((digest) => bytes.get(digest)!);
  }
}

type Shown = Pick<Renewal, 'evidence' | 'result' | 'resultSignature' | 'at' | 'endorsements'>;

function shownBy({ evidence, result, resultSignature, at, endorsements }: Shown, id: string) {
  const bytes = { evidence: new Uint8Array(evidence), result: new Uint8Array(result) };
  return { id, ...bytes, resultSignature, appraisedAt: Number(at), endorsements };
}

function byEnd(jobId: string) {
  return { where: { jobId }, order: { notAfter: 'ASC' } } as const;
}

/** By lease or worker. @param rows  in the order of their ends */
function newestOf<T extends Omit<Renewal, 'leaseId'>>(rows: readonly T[], idOf: (row: T) => string) {
  return new Map(
    rows.map((row): [string, [StoredSession]] => {
      const { grantedAt, notAfter, signature } = row;
      const lease = { grantedAt: Number(grantedAt ?? 0), notAfter: Number(notAfter), signature };
      return [idOf(row), [{ ...shownBy(row, idOf(row)), release: null, lease }]];
    }),
  );
}

function pending(expected: string, got: string) {
  return refusal('JOB_BUNDLE_PENDING', {
    expected,
    got,
    rule: 'apps/control-plane/README.md, job states',
    action: 'Wait until the job is delivered, or settled.',
  });
}
