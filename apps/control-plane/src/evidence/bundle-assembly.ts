/** Puts together what proves a job, from what is stored: the same rows give the same bytes. */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
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
  type EvidenceBundle,
} from '#attestation';
import type { Delivery } from '#libs/messaging';
import { DeliveryRecord, EscrowEventRecord, KeyRelease, Receipt, Verdict, type Job } from '#libs/persistence';
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
  readonly events: readonly EscrowEventRecord[];
}

interface Session {
  readonly leaseId: string;
  readonly evidence: Uint8Array;
  readonly result: Uint8Array;
  readonly appraisedAt: number;
  readonly appraisal: EvidenceBundle['sessions'][number]['appraisal'];
}

@Injectable()
export class BundleAssembly {
  constructor(private readonly database: DataSource) {}

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
    const sessions = await this.sessions(jobId);
    return encodeBundle(bundleOf({ job, record, delivery, receipts, sessions, events }));
  }

  /** Sessions that were given the data key, in the order of their appraisal. */
  private async sessions(jobId: string): Promise<Session[]> {
    const { manager } = this.database;
    const releases = new Map((await manager.findBy(KeyRelease, { jobId })).map((row) => [row.leaseId, row]));
    const verdicts = await manager.find(Verdict, { where: { jobId }, order: { at: 'ASC', leaseId: 'ASC' } });
    return verdicts.flatMap(({ leaseId, evidence, at }) => {
      const release = releases.get(leaseId);
      if (release === undefined) return [];
      const result = new Uint8Array(release.result);
      const appraisal = appraisalOf(release.release);
      return { leaseId, evidence: new Uint8Array(evidence), result, appraisedAt: Number(at), appraisal };
    });
  }
}

function bundleOf(stored: Stored): EvidenceBundle {
  const { job, record, delivery, receipts, sessions, events } = stored;
  const sessionOf = (leaseId: string): number => sessions.findIndex((session) => session.leaseId === leaseId);
  const { upTo, outcome, bordersRoot, last } = delivery.run;
  return {
    version: 1,
    spec: new Uint8Array(job.spec),
    terms: encodeTerms(parseTermsJson(job.terms)),
    policy: new Uint8Array(job.policy),
    sessions: sessions.map(({ leaseId: _leaseId, ...session }) => session),
    endorsements: { crls: [], rims: [] },
    segments: receipts.map(({ leaseId, statement, receipt }) => ({
      session: sessionOf(leaseId),
      statement: new Uint8Array(statement),
      receipt: new Uint8Array(receipt),
    })),
    run: {
      upTo,
      outcome,
      bordersRoot: fromHex(bordersRoot),
      last: fromHex(last),
      delivery: fromHex(delivery.run.delivery),
    },
    seal: { session: sealingSession(stored) ?? sessionOf(record.leaseId), bytes: bytesOf(delivery.seal) },
    delivery: { ciphertextDigest: fromHex(delivery.result.blob), keyCommit: fromHex(delivery.result.keyCommit) },
    settlement: { transactions: transactionsOf(delivery, events) },
  };
}

/** From the public part of a release, whose signature was checked before it was stored. */
function appraisalOf(release: object): Session['appraisal'] {
  const { notAfter, appraisalSignature } = release as { notAfter: number; appraisalSignature: string };
  return { notAfter, signature: fromHex(appraisalSignature) };
}

/** A host that restarted delivers under a new session what an earlier one sealed: the signature tells which. */
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
  const index = sessions.findIndex(({ evidence }) =>
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
