/** The time as of which somebody judges, as commands take and print it. */
import { InvalidArgumentError } from 'commander';

export const timeText = 'Unix seconds, a date (its midnight, UTC) or 2026-11-29T12:00:00Z';

/** @returns Unix seconds @throws InvalidArgumentError */
export function judgingTime(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text) ? Date.parse(text) : NaN;
  // A day that no calendar has rolls over into the next month.
  if (at >= 0 && new Date(at).toISOString().startsWith(text.slice(0, 10))) return at / 1000;
  throw new InvalidArgumentError(`expected ${timeText}`);
}

export function isoTime(unix: number): string {
  return new Date(unix * 1000).toISOString();
}
