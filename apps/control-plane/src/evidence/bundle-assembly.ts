/** Puts together what proves a job, from what is stored: the same rows give the same bytes. */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  concatBytes,
  domainSeparator,
  encodeBundle,
  encodeTerms,
  equalBytes,
  fromHex,
  jobDigest,
  parseJobSpec,
  parseSessionEvidence,
  parseTermsJson,
  recoverAddress,
  Rejection,
  runDigest,
  type AttestedBundle,
  type BundledProof,
  type EvidenceBundle,
  type ParallelBundle,
} from '#attestation';
import type { Delivery } from '#libs/messaging';
import {
  DeliveryRecord,
  EscrowEventRecord,
  KeyRelease,
  Receipt,
  Renewal,
  SegmentProof,
  Verdict,
  Worker,
  WorkerRenewal,
  type Job,
} from '#libs/persistence';
import { ProofBook } from '../dispatch/proof-book.js';
import { storedPartials, type StoredPartial } from '../dispatch/stored-partials.js';
import { BlobStore } from '../objects/blob-store.js';
import { refusal } from '../problem/codes.js';

const transactionsMax = 64;
/** Calls of settlement §6 by the event that each leaves. */
const callOfEvent: Readonly<Record<string, string>> = {
  JobOpened: 'open',
  JobAccepted: 'accept',
  JobStarted: 'start',
  JobCommitted: 'commit',
  JobEnded: 'finalize',
};

interface Stored {
  readonly job: Job;
  readonly record: DeliveryRecord;
  readonly delivery: Delivery;
  readonly receipts: readonly Receipt[];
  readonly sessions: readonly Session[];
  /** Of a data-parallel job; one that averages has its session among the leases’. */
  readonly workers: readonly Session[];
  /** By first step; null where the job has none. */
  readonly proofs: ReadonlyMap<number, BundledProof> | null;
  /** By segment; none in a plain job. */
  readonly partials: ReadonlyMap<number, StoredPartial>;
  readonly events: readonly EscrowEventRecord[];
}

interface Session {
  /** Or worker. */
  readonly leaseId: string;
  readonly evidence: Uint8Array;
  readonly result: Uint8Array;
  readonly appraisedAt: number;
  readonly appraisal: AttestedBundle['sessions'][number]['appraisal'];
}

@Injectable()
export class BundleAssembly {
  constructor(
    private readonly database: DataSource,
    private readonly blobs: BlobStore,
    private readonly book: ProofBook,
  ) {}

  /** @throws Rejection JOB_BUNDLE_PENDING before delivery */
  async assemble(job: Job): Promise<Uint8Array> {
    const { manager } = this.database;
    const record = await manager.findOneBy(DeliveryRecord, { jobId: job.id });
    if (record === null) throw pending('a delivered job', job.state);
    const jobId = job.id;
    const receipts = await manager.find(Receipt, { where: { jobId }, order: { stepFrom: 'ASC' } });
    const order = { blockNumber: 'ASC', logIndex: 'ASC' } as const;
    const events = await manager.find(EscrowEventRecord, { where: { escrowId: job.escrowId }, order });
    const delivery = record.delivery as unknown as Delivery;
    const leased = await this.sessions(jobId);
    const workers = await this.workers(jobId);
    const sessions = [...leased, ...workers.filter((worker) => !leased.some((session) => isSame(session, worker)))];
    const proofs = job.assurance === 'tee' ? null : await this.proofs(job);
    const partials = await storedPartials(manager, jobId);
    return encodeBundle(bundleOf({ job, record, delivery, receipts, sessions, workers, proofs, partials, events }));
  }

  /** @throws Rejection JOB_BUNDLE_PENDING while a segment waits for its proof */
  private async proofs(job: Job): Promise<Map<number, BundledProof>> {
    const { segmentSteps } = parseJobSpec(new Uint8Array(job.spec));
    const rows = await this.database.manager.findBy(SegmentProof, { jobId: job.id });
    const proved = rows.flatMap(({ index, blob, document }) =>
      blob === null || document === null ? [] : [{ index, blob, document }],
    );
    const due = await this.book.due(this.database.manager, job);
    const done = proved.filter(({ index }) => due.has(index)).length;
    if (due.size === 0) throw pending('segments to be drawn, and proved', 'none drawn');
    if (done < due.size) throw pending(`proofs of ${due.size} segments`, `${done}`);
    const entries = proved.map(async ({ index, blob, document }) => {
      return [index * segmentSteps, { bytes: await this.read(blob), document }] as const;
    });
    return new Map(await Promise.all(entries));
  }

  private async read(blob: string): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.blobs.open(blob)) chunks.push(chunk as Uint8Array);
    return concatBytes(...chunks);
  }

  /** Sessions that were given the data key, in the order of their appraisal, each with its newest renewal behind it. */
  private async sessions(jobId: string): Promise<Session[]> {
    const { manager } = this.database;
    const releases = new Map((await manager.findBy(KeyRelease, { jobId })).map((row) => [row.leaseId, row]));
    const verdicts = await manager.find(Verdict, { where: { jobId }, order: { at: 'ASC', leaseId: 'ASC' } });
    const renewals = newestOf(await manager.find(Renewal, byEnd(jobId)), ({ leaseId }) => leaseId);
    return verdicts.flatMap(({ leaseId, evidence, at }) => {
      const release = releases.get(leaseId);
      if (release === undefined) return [];
      const result = new Uint8Array(release.result);
      const appraisal = appraisalOf(release.release);
      const first = { leaseId, evidence: new Uint8Array(evidence), result, appraisedAt: Number(at), appraisal };
      const renewal = renewals.get(leaseId);
      return renewal === undefined ? [first] : [first, renewal];
    });
  }

  private async workers(jobId: string): Promise<Session[]> {
    const where = { where: { jobId }, order: { at: 'ASC', id: 'ASC' } } as const;
    const rows = await this.database.manager.find(Worker, where);
    const renewed = await this.database.manager.find(WorkerRenewal, byEnd(jobId));
    const renewals = newestOf(renewed, ({ workerId }) => workerId);
    return rows.flatMap(({ id, evidence, result, at, release }) => {
      const first = {
        ...{ leaseId: id, evidence: new Uint8Array(evidence), result: new Uint8Array(result) },
        ...{ appraisedAt: Number(at), appraisal: appraisalOf(release) },
      };
      const renewal = renewals.get(id);
      return renewal === undefined ? [first] : [first, renewal];
    });
  }
}

function byEnd(jobId: string) {
  return { where: { jobId }, order: { notAfter: 'ASC' } } as const;
}

/** By lease or worker. @param rows  in the order of their ends */
function newestOf<T extends Omit<Renewal, 'leaseId'>>(rows: readonly T[], idOf: (row: T) => string) {
  return new Map(
    rows.map((row): [string, Session] => {
      const { evidence, result, at, notAfter, appraisalSignature } = row;
      const appraisal = { notAfter: Number(notAfter), signature: fromHex(appraisalSignature) };
      const session = { leaseId: idOf(row), evidence: new Uint8Array(evidence), result: new Uint8Array(result) };
      return [idOf(row), { ...session, appraisedAt: Number(at), appraisal }];
    }),
  );
}

function isSame(a: Session, b: Session): boolean {
  return equalBytes(a.evidence, b.evidence);
}

function bundleOf(stored: Stored): EvidenceBundle {
  const { job, record, delivery, receipts, sessions, proofs, events } = stored;
  const sessionOf = (id: string): number => sessions.findIndex(({ leaseId }) => leaseId === id);
  const { upTo, outcome, bordersRoot, last } = delivery.run;
  const common = {
    spec: new Uint8Array(job.spec),
    terms: encodeTerms(parseTermsJson(job.terms)),
    policy: new Uint8Array(job.policy),
    sessions: sessions.map(({ leaseId: _leaseId, ...session }) => session),
    endorsements: { crls: [], rims: [] },
    run: {
      upTo,
      outcome,
      bordersRoot: fromHex(bordersRoot),
      last: fromHex(last),
      delivery: fromHex(delivery.run.delivery),
    },
    delivery: { ciphertextDigest: fromHex(delivery.result.blob), keyCommit: fromHex(delivery.result.keyCommit) },
    settlement: { transactions: transactionsOf(delivery, events) },
  };
  const signedOf = ({ leaseId, receipt }: Receipt) => ({
    session: sessionOf(leaseId),
    receipt: new Uint8Array(receipt),
  });
  const seal = { session: sealingSession(stored) ?? sessionOf(record.leaseId), bytes: bytesOf(delivery.seal) };
  if (job.parallel > 1) return { version: 3, ...common, segments: roundsOf(stored, signedOf), seal };
  if (proofs === null) {
    const segments = receipts.map((row) => ({ ...signedOf(row), statement: new Uint8Array(row.statement) }));
    return { version: 1, ...common, segments, seal };
  }
  return {
    version: 2,
    ...common,
    segments: receipts.map((row) => ({
      statement: new Uint8Array(row.statement),
      signed: row.receipt.length === 0 ? null : signedOf(row),
      proof: proofs.get(Number(row.stepFrom)) ?? null,
    })),
    seal: delivery.seal === '' ? null : seal,
  };
}

/** Every round with the partials that its receipt names. */
function roundsOf(
  { job, receipts, sessions, workers, partials }: Stored,
  signedOf: (row: Receipt) => { session: number; receipt: Uint8Array },
): ParallelBundle['segments'] {
  return receipts.map((row, round) => ({
    ...signedOf(row),
    statement: new Uint8Array(row.statement),
    partials: Array.from({ length: job.parallel }, (_, at) => {
      const { workerId, statement, receipt } = partials.get(round * job.parallel + at)!;
      const worker = workers.find(({ leaseId }) => leaseId === workerId)!;
      const session = sessions.findIndex((one) => isSame(one, worker));
      return { session, statement: new Uint8Array(statement), receipt: new Uint8Array(receipt) };
    }),
  }));
}

/** From the public part of a release, whose signature was checked before it was stored. */
function appraisalOf(release: object): Session['appraisal'] {
  const { notAfter, appraisalSignature } = release as { notAfter: number; appraisalSignature: string };
  return { notAfter, signature: fromHex(appraisalSignature) };
}

/**
 * A host that restarted delivers under a new session what an earlier one sealed: the signature tells which. Its newest
 * appraisal is the one that the seal is shown with.
 */
function sealingSession({ job, delivery, sessions }: Stored): number | null {
  const { chainId, contract } = parseJobSpec(new Uint8Array(job.spec)).settlement;
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const { upTo, outcome, bordersRoot, last, delivery: delivered } = delivery.run;
  const run = {
    job: jobDigest(parseTermsJson(job.terms)),
    upTo,
    outcome,
    bordersRoot: fromHex(bordersRoot),
    last: fromHex(last),
    delivery: fromHex(delivered),
  };
  const signer = signerOf(runDigest(domain, run), bytesOf(delivery.seal).subarray(4));
  if (signer === null) return null;
  const index = sessions.findLastIndex(({ evidence }) =>
    equalBytes(parseSessionEvidence(evidence).binding.settlementKey, signer),
  );
  return index < 0 ? null : index;
}

function signerOf(digest: Uint8Array, signature: Uint8Array): Uint8Array | null {
  try {
    return recoverAddress(digest, signature);
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}

/** What the node reported, and what the chain shows; the chain's word counts where both speak. */
function transactionsOf(delivery: Delivery, events: readonly EscrowEventRecord[]) {
  const hashes = new Map(delivery.transactions.map(({ call, hash }) => [call, hash]));
  for (const { name, transaction } of events) {
    const call = callOfEvent[name];
    if (call !== undefined) hashes.set(call, transaction);
  }
  return [...hashes].slice(0, transactionsMax).map(([call, hash]) => ({ call, hash: fromHex(hash) }));
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

function pending(expected: string, got: string) {
  return refusal('JOB_BUNDLE_PENDING', {
    expected,
    got,
    rule: 'control-plane README, job states',
    action: 'Wait until the job is delivered, or settled.',
  });
}
