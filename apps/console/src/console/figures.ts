/** Numbers and times for people. */
import { duration } from '../reviewer/text.js';

/** `2026-11-22 16:41:50 UTC`. */
export const utcOf = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;

export function ago(iso: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(iso)) / 1000);
  if (seconds < 0) return `in ${duration(-seconds)}`;
  return seconds < 5 ? 'now' : `${duration(seconds)} ago`;
}

export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

export const counted = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`;

export const short = (id: string): string => (id.length > 14 ? `${id.slice(0, 10)}…` : id);
