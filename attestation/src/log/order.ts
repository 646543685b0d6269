/** Which of two entries was logged first, in one log or in two. */

/** An entry's own time may be so far ahead of the log's, seconds. */
export const earlySeconds = 300;

export interface LoggedAt {
  readonly origin: string;
  readonly index: number;
  /** Unix seconds, the issuer's word. */
  readonly at: number;
  /** Unix seconds by which a quorum had seen it; null where none is known. */
  readonly witnessedAt: number | null;
}

/** In one log by place; of another log it must have been seen by the time that the issuer of the later one gave it. */
export function isLoggedBefore(earlier: LoggedAt, later: LoggedAt): boolean {
  if (earlier.origin === later.origin) return earlier.index < later.index;
  return (earlier.witnessedAt ?? earlier.at) <= later.at + earlySeconds;
}
