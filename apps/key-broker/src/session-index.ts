/**
 * What the journal says of sessions: who works with a data key on which jobs, on which machine, and which may no more.
 */
import type { JournalEntry } from './journal-file.js';

/** What tells a machine from others, as hexadecimal; empty where its kind of evidence says nothing of it. */
export interface MachineIdentity {
  readonly reportId: string;
  readonly chip: string;
  readonly measurement: string;
  /** GPUs, by what identifies each. */
  readonly devices: readonly string[];
}

export interface SignedRevocation {
  /** `escrowIdOf` of the escrow, 0x-hexadecimal as all here. */
  readonly job: string;
  readonly key: string;
  readonly reason: string;
  readonly signature: string;
}

interface HeldJob {
  readonly jobId: string;
  /** `escrowIdOf` of the escrow; absent for releases of before. */
  readonly job?: string;
  /** Digest of the policy that its evidence met; absent for lines of before. */
  readonly policy?: string;
  /** Unix seconds until which the session may be relied on. */
  readonly until: number;
}

export interface HeldSession {
  /** Digest of its keys, 0x-hexadecimal. */
  readonly session: string;
  readonly jobs: readonly HeldJob[];
  /** Settlement key. */
  readonly key?: string;
  readonly provider?: string;
  /** Machine of the evidence that was accepted first. */
  readonly machine?: MachineIdentity;
  readonly ended: boolean;
  /** Another session of the same provider works on its machine. */
  readonly superseded: boolean;
}

export interface SessionIndex {
  take(entry: JournalEntry): void;
  find(session: string): HeldSession | undefined;
  /** Sessions neither ended nor superseded that hold a lease at that time. */
  live(at: number): readonly HeldSession[];
  holdersOf(jobId: string): readonly HeldSession[];
  /** Revocations that were signed for this escrow. */
  revocationsOf(job: string): readonly SignedRevocation[];
}

export function createSessionIndex(): SessionIndex {
  const sessions = new Map<string, HeldSession>();
  const revocations = new Map<string, SignedRevocation[]>();
  return {
    take(entry) {
      const { decision, session } = entry;
      if (typeof session !== 'string') return;
      const known = sessions.get(session) ?? { session, jobs: [], ended: false, superseded: false };
      if (decision === 'session-ended') {
        sessions.set(session, { ...known, ended: true });
        for (const one of (entry['revocations'] ?? []) as SignedRevocation[]) {
          revocations.set(one.job, [...(revocations.get(one.job) ?? []), one]);
        }
      } else if (decision === 'session-superseded') sessions.set(session, { ...known, superseded: true });
      else if (grants.has(decision)) sessions.set(session, held(known, entry));
    },
    find: (session) => sessions.get(session),
    live: (at) => [...sessions.values()].filter((one) => isLive(one, at)),
    holdersOf: (jobId) => [...sessions.values()].filter(({ jobs }) => jobs.some((held) => held.jobId === jobId)),
    revocationsOf: (job) => revocations.get(job) ?? [],
  };
}

/** Decisions by which a session may be relied on for a job. */
const grants: ReadonlySet<unknown> = new Set(['released', 'renewed', 'appraised']);

/** The session that was let in last has the machine, also where another took it over meanwhile. */
function held(known: HeldSession, entry: JournalEntry): HeldSession {
  const { jobId, job, notAfter, key, provider, machine } = entry;
  if (typeof jobId !== 'string' || typeof notAfter !== 'number') return known;
  const escrow = typeof job === 'string' ? job : known.jobs.find((one) => one.jobId === jobId)?.job;
  const isSame = (one: HeldJob): boolean => one.jobId === jobId && one.job === escrow;
  const policy = typeof entry['policy'] === 'string' ? entry['policy'] : known.jobs.find(isSame)?.policy;
  const ids = { jobId, ...(escrow !== undefined && { job: escrow }), ...(policy !== undefined && { policy }) };
  return {
    ...known,
    superseded: false,
    jobs: [...known.jobs.filter((one) => !isSame(one)), { ...ids, until: notAfter }],
    ...(typeof key === 'string' && { key }),
    ...(typeof provider === 'string' && { provider }),
    ...(known.machine === undefined && machine !== undefined && { machine: machine as MachineIdentity }),
  };
}

function isLive({ ended, superseded, jobs }: HeldSession, at: number): boolean {
  return !ended && !superseded && jobs.some(({ until }) => until >= at);
}
