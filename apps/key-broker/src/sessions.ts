/**
 * Which enclave sessions may have a data key, on which job and until when, and which may no more; the journal is the
 * memory.
 */
import { CollateralError, keccak, Rejection, to0x, utf8 } from '#attestation/base';
import type { Journal } from './journal.js';
import type { HeldSession, MachineIdentity, SignedRevocation } from './session-index.js';

interface SessionOnJob {
  /** Digest of the session's keys, 32 bytes. */
  readonly session: Uint8Array;
  readonly jobId: Uint8Array;
  /** `escrowIdOf` of the escrow. */
  readonly job: Uint8Array;
}

interface SessionOfProvider {
  readonly session: Uint8Array;
  /** Account, 20 bytes. */
  readonly provider: Uint8Array;
}

export interface SessionStore {
  /** @throws Rejection BROKER_SESSION_ENDED */
  checkOpen(session: Uint8Array): void;
  /**
   * @throws Rejection BROKER_SESSION_ENDED, BROKER_SESSION_SUPERSEDED, BROKER_SESSION_UNKNOWN, BROKER_SESSION_LAPSED
   */
  checkHeld(on: SessionOnJob, at: number): void;
  /**
   * Checks that a prover may have the key of a job whose enclave is attested no more.
   * @throws Rejection BROKER_ASSURANCE where no session ever had the key; CollateralError BROKER_SESSION_HELD while
   * one may have it
   */
  checkOver(jobId: Uint8Array, at: number): void;
  /** Whether it was let in under this policy, or under one that its lines do not name. */
  isUnder(session: Uint8Array, policy: Uint8Array): boolean;
  /**
   * The machine on which it was released is the one it shows now, with no GPU more.
   * @throws Rejection BROKER_SESSION_MACHINE
   */
  checkMachine(session: Uint8Array, shown: MachineIdentity): void;
  /** Devices, and REPORT_IDs, of live sessions of other providers. */
  devicesOfOthers(of: SessionOfProvider, at: number): ReadonlySet<string>;
  /** Escrows that it holds besides this one, by the digests of their terms. */
  otherJobs(on: SessionOnJob, at: number): readonly string[];
  /**
   * Ends the renewals of live sessions of the same provider on the same machine: a crash must not wait for their
   * leases.
   * @throws CollateralError BROKER_JOURNAL
   */
  supersede(by: SessionOfProvider, machine: MachineIdentity, at: number): void;
  /**
   * Ends the session for good and signs a Revocation of its key for each of its jobs; a session that holds nothing is
   * left as it is.
   * @throws CollateralError BROKER_JOURNAL
   */
  end(session: Uint8Array, at: number, code: string): void;
}

/** Signs the Revocation of a settlement key in one escrow. */
export type RevocationSigner = (job: string, key: string, reason: Uint8Array) => Uint8Array;

export function openSessionStore(journal: Journal, sign: RevocationSigner): SessionStore {
  const { sessions, append } = journal;
  return {
    ...standing(journal),
    ...machines(journal),
    isUnder(session, policy) {
      const jobs = sessions.find(to0x(session))?.jobs ?? [];
      return jobs.some((one) => (one.policy ?? to0x(policy)) === to0x(policy));
    },
    otherJobs({ session, job }, at) {
      const jobs = sessions.find(to0x(session))?.jobs ?? [];
      const others = jobs.filter((held) => held.job !== to0x(job) && held.until >= at);
      return others.flatMap(({ job }) => job ?? []);
    },
    end(session, at, code) {
      const held = sessions.find(to0x(session));
      if (held === undefined || held.ended) return;
      const revocations = revocationsOf(held, code, sign);
      append({ at, decision: 'session-ended', session: held.session, code, revocations });
    },
  };
}

/** What a session may still do. */
function standing({ sessions }: Journal): Pick<SessionStore, 'checkOpen' | 'checkHeld' | 'checkOver'> {
  const checkOpen = (session: Uint8Array): void => {
    if (sessions.find(to0x(session))?.ended !== true) return;
    throw refused('BROKER_SESSION_ENDED', 'a session whose every renewal was accepted', 'one that was refused');
  };
  return {
    checkOpen,
    checkHeld({ session, jobId, job }, at) {
      checkOpen(session);
      const held = sessions.find(to0x(session));
      if (held?.superseded === true) {
        throw refused('BROKER_SESSION_SUPERSEDED', 'the newest session of its machine', 'one before it');
      }
      const until = held?.jobs.find((one) => one.jobId === to0x(jobId) && (one.job ?? to0x(job)) === to0x(job))?.until;
      if (until === undefined) throw refused('BROKER_SESSION_UNKNOWN', 'a session that has the data key', 'another');
      if (at > until) throw refused('BROKER_SESSION_LAPSED', `a renewal until ${until}`, `${at}`);
    },
    checkOver(jobId, at) {
      const had = sessions.holdersOf(to0x(jobId));
      if (had.length === 0) throw refused('BROKER_ASSURANCE', 'a job whose enclave is attested no more', 'one without');
      const jobs = had.filter(({ ended }) => !ended).flatMap((one) => one.jobs);
      const held = jobs.find((one) => one.jobId === to0x(jobId) && one.until >= at)?.until;
      if (held === undefined) return;
      throw new CollateralError('BROKER_SESSION_HELD', {
        expected: 'no session that may still work on the job',
        got: `one until ${held}`,
        rule: 'key broker, renewal',
        action: 'ask again when its lease is over',
      });
    },
  };
}

/** Which machine each session is on. */
function machines({ sessions, append }: Journal): Pick<SessionStore, 'checkMachine' | 'devicesOfOthers' | 'supersede'> {
  const othersLive = (session: Uint8Array, at: number): readonly HeldSession[] =>
    sessions.live(at).filter((other) => other.session !== to0x(session));
  return {
    checkMachine(session, shown) {
      const released = sessions.find(to0x(session))?.machine;
      if (released === undefined) return;
      for (const member of ['reportId', 'chip', 'measurement'] as const) {
        if (released[member] === shown[member]) continue;
        throw refused('BROKER_SESSION_MACHINE', `${member} ${released[member]}`, shown[member]);
      }
      const more = shown.devices.find((device) => !released.devices.includes(device));
      if (more === undefined) return;
      throw refused('BROKER_SESSION_MACHINE', `GPUs among ${released.devices.join(', ') || 'none'}`, more);
    },
    devicesOfOthers({ session, provider }, at) {
      const others = othersLive(session, at).filter((other) => other.provider !== to0x(provider));
      return new Set(others.flatMap(({ machine }) => (machine === undefined ? [] : exclusiveOf(machine))));
    },
    supersede({ session, provider }, machine, at) {
      const own = new Set(exclusiveOf(machine));
      for (const other of othersLive(session, at)) {
        const isShared = other.machine !== undefined && exclusiveOf(other.machine).some((device) => own.has(device));
        if (!isShared || other.provider !== to0x(provider)) continue;
        append({ at, decision: 'session-superseded', session: other.session, by: to0x(session) });
      }
    },
  };
}

/** What serves one session at a time: GPUs, and a guest by the id that its launch was given. A chip serves many. */
export function exclusiveOf({ reportId, devices }: MachineIdentity): readonly string[] {
  return reportId === '' ? devices : [reportId, ...devices];
}

function revocationsOf({ jobs, key }: HeldSession, code: string, sign: RevocationSigner): readonly SignedRevocation[] {
  if (key === undefined) return [];
  const reason = keccak(utf8(code));
  return [...new Set(jobs.flatMap(({ job }) => job ?? []))].map((job) => ({
    ...{ job, key, reason: to0x(reason) },
    signature: to0x(sign(job, key, reason)),
  }));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'key broker, renewal',
    action: 'open a fresh session and ask for the data key with its evidence; the job goes on from its checkpoint',
  });
}
