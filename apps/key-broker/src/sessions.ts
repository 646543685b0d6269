/**
 * Which enclave sessions work with a data key, on which job and until when, and which may no more. The journal is the
 * memory: it is read once, at the start, and written before anything is given.
 */
import { existsSync, readFileSync } from 'node:fs';
import { CollateralError, Rejection, toHex } from '#attestation';
import type { BrokerConfig } from './config.js';
import { append } from './journal.js';

export interface SessionOnJob {
  /** Digest of the session's keys, 32 bytes. */
  readonly session: Uint8Array;
  readonly jobId: Uint8Array;
}

export interface SessionBook {
  /** @throws Rejection BROKER_SESSION_ENDED */
  checkOpen(session: Uint8Array): void;
  /** @throws Rejection BROKER_SESSION_ENDED, BROKER_SESSION_UNKNOWN, BROKER_SESSION_LAPSED */
  checkHeld(on: SessionOnJob, at: number): void;
  /**
   * For a job that may be proved when its enclave is attested no more.
   * @throws Rejection BROKER_ASSURANCE where no session ever had the key; CollateralError BROKER_SESSION_HELD while one may have it
   */
  checkOver(jobId: Uint8Array, at: number): void;
  /** After it was written to the journal: the session may be relied on until `notAfter`, unix seconds. */
  hold(on: SessionOnJob, notAfter: number): void;
  /** For good, whatever it works on; harmless for one that holds nothing. @throws CollateralError BROKER_JOURNAL */
  end(session: Uint8Array, at: number, code: string): void;
}

interface Entry {
  readonly decision?: string;
  readonly session?: string;
  readonly jobId?: string;
  readonly notAfter?: number;
}

export function openSessionBook({ journal }: Pick<BrokerConfig, 'journal'>): SessionBook {
  const heldUntil = new Map<string, Map<string, number>>();
  const ended = new Set<string>();
  const take = ({ decision, session, jobId, notAfter }: Entry): void => {
    if (session === undefined) return;
    if (decision === 'session-ended') ended.add(session);
    else if (jobId !== undefined && notAfter !== undefined) {
      const jobs = heldUntil.get(session) ?? new Map<string, number>();
      heldUntil.set(session, jobs.set(jobId, notAfter));
    }
  };
  for (const entry of entriesOf(journal)) take(entry);
  const checkOpen = (session: Uint8Array): void => {
    if (!ended.has(hex(session))) return;
    throw refused('BROKER_SESSION_ENDED', 'a session whose every renewal was accepted', 'one that was refused');
  };
  return {
    checkOpen,
    checkHeld({ session, jobId }, at) {
      checkOpen(session);
      const until = heldUntil.get(hex(session))?.get(hex(jobId));
      if (until === undefined) throw refused('BROKER_SESSION_UNKNOWN', 'a session that has the data key', 'another');
      if (at > until) throw refused('BROKER_SESSION_LAPSED', `a renewal until ${until}`, `${at}`);
    },
    checkOver(jobId, at) {
      const had = [...heldUntil].filter(([, jobs]) => jobs.has(hex(jobId)));
      if (had.length === 0) throw refused('BROKER_ASSURANCE', 'a job whose enclave is attested no more', 'one without');
      const held = had.find(([session, jobs]) => !ended.has(session) && jobs.get(hex(jobId))! >= at);
      if (held === undefined) return;
      throw new CollateralError('BROKER_SESSION_HELD', {
        expected: 'no session that may still work on the job',
        got: `one until ${held[1].get(hex(jobId))}`,
        rule: 'key broker, renewal',
        action: 'ask again when its lease is over',
      });
    },
    hold: ({ session, jobId }, notAfter) => take({ session: hex(session), jobId: hex(jobId), notAfter }),
    end(session, at, code) {
      const entry = { at, decision: 'session-ended', session: hex(session), code };
      if (!heldUntil.has(entry.session) || ended.has(entry.session)) return;
      append(journal, entry);
      take(entry);
    },
  };
}

/** A line that was cut off by a crash was written for something that was never given. */
function entriesOf(journal: string): readonly Entry[] {
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
  return lines
    .filter((line) => line.includes('"session"'))
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Entry];
      } catch {
        return [];
      }
    });
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'key broker, renewal',
    action: 'open a fresh session and ask for the data key with its evidence; the job goes on from its checkpoint',
  });
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}
