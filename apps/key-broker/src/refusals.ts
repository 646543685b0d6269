/** Refusals in the journal: each has a line, up to so many a minute, for whoever has a fresh key can make them. */
import type { CodedError } from '#attestation/base';
import type { Journal } from './journal.js';

interface Minute {
  readonly minute: number;
  lines: number;
  /** Refusals that got none since the last line. */
  unwritten: number;
}

const perMinute = 60;
/**
 * Refusals are recorded later than their requests came, and so out of order: one of an earlier minute counts in the
 * newest. A clock that was set further back than this begins anew.
 */
const lateMinutesMost = 15;
const minutes = new WeakMap<Journal, Minute>();

/** @param at unix seconds @throws CollateralError BROKER_JOURNAL */
export function recordRefusal(journal: Journal, at: number, error: CodedError): void {
  const now = Math.floor(at / 60);
  const before = minutes.get(journal);
  const isCurrent = before !== undefined && now <= before.minute && before.minute - now <= lateMinutesMost;
  const current = isCurrent ? before : { minute: now, lines: 0, unwritten: before?.unwritten ?? 0 };
  minutes.set(journal, current);
  if (current.lines >= perMinute) {
    current.unwritten += 1;
    return;
  }
  const { unwritten } = current;
  journal.append({ at, decision: 'refused', ...error.toJSON(), ...(unwritten > 0 && { unwritten }) });
  current.lines += 1;
  current.unwritten = 0;
}
