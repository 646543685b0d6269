/** What is stored of one delivered job: all that its bundle is made of. */
import { equalBytes } from '#attestation/base';
import { type BundledProof } from '#attestation/records';
import type { DeliveryRecord, EscrowEventRecord, Job, Receipt } from '#libs/persistence';
import type { Delivery } from '#libs/wire';
import type { StoredPartial } from './stored-partials.js';

export interface StoredJob {
  readonly job: Job;
  readonly record: DeliveryRecord;
  readonly delivery: Delivery;
  readonly receipts: readonly Receipt[];
  readonly sessions: readonly StoredSession[];
  /** Of a data-parallel job; one that averages has its session among the leases’. */
  readonly workers: readonly StoredSession[];
  /** By first step; null where the job has none. */
  readonly proofs: ReadonlyMap<number, BundledProof> | null;
  /** By segment; none in a plain job. */
  readonly partials: ReadonlyMap<number, StoredPartial>;
  readonly events: readonly EscrowEventRecord[];
}

export interface StoredSession {
  /** Or worker. */
  readonly id: string;
  readonly evidence: Uint8Array;
  readonly result: Uint8Array;
  readonly resultSignature: string | null;
  readonly appraisedAt: number;
  /** Digest of the endorsements that the verdict rested on. */
  readonly endorsements: string | null;
  /** Of a session with a new release: its row. */
  readonly release: Readonly<Record<string, unknown>> | null;
  /** Of a renewal. */
  readonly lease: { readonly grantedAt: number; readonly notAfter: number; readonly signature: string } | null;
}

const transactionsMax = 64;

/** Calls of contracts/SPEC.md §6 by the event that each leaves. */
const callOfEvent: Readonly<Record<string, string>> = {
  JobOpened: 'open',
  JobAccepted: 'accept',
  JobStarted: 'start',
  JobCommitted: 'commit',
  JobEnded: 'finalize',
};

/** What the node reported, and what the chain shows; the chain's word counts where both speak. */
export function transactionsOf({ delivery, events }: StoredJob): { call: string; hash: Uint8Array }[] {
  const hashes = new Map(delivery.transactions.map(({ call, hash }) => [call, hash]));
  for (const { name, transaction } of events) {
    const call = callOfEvent[name];
    if (call !== undefined) hashes.set(call, transaction);
  }
  return [...hashes].slice(0, transactionsMax).map(([call, hash]) => ({ call, hash: bytesOfHex(hash) }));
}

/** Place of the session that signed, in the bundle's list. */
export function placeOf({ sessions }: StoredJob, id: string): number {
  return sessions.findIndex((session) => session.id === id);
}

export function signedOf(stored: StoredJob, { leaseId, receipt }: Receipt) {
  return { session: placeOf(stored, leaseId), receipt: new Uint8Array(receipt) };
}

/** The partials behind one round, in the order of the workers. */
export function partialsOf({ job, sessions, workers, partials }: StoredJob, round: number) {
  return Array.from({ length: job.parallel }, (_, at) => {
    const { workerId, statement, receipt } = partials.get(round * job.parallel + at)!;
    const worker = workers.find(({ id }) => id === workerId)!;
    const session = sessions.findIndex((one) => isSame(one, worker));
    return { session, statement: new Uint8Array(statement), receipt: new Uint8Array(receipt) };
  });
}

export function isSame(a: StoredSession, b: StoredSession): boolean {
  return equalBytes(a.evidence, b.evidence);
}

function bytesOfHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), 'hex'));
}
