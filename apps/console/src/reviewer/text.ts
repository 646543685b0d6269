/** Strings out of a file, made harmless to read: nothing invisible, nothing that turns the line around, nothing endless. */
import { visibleText } from '#libs/review/text';

const lengthMax = 256;

export function plain(text: string): string {
  const cut = text.length > lengthMax ? text.slice(0, lengthMax) : text;
  const shown = visibleText(cut);
  return cut === text ? shown : `${shown}… (${text.length} characters)`;
}

/** Unix seconds as a date in UTC, `2026-11-22 16:41:50`. */
export function utc(seconds: number): string {
  const date = new Date(1000 * seconds);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString().slice(0, 19).replace('T', ' ');
}

/** Checks whose words hold Unix seconds. */
const ofTime = /_(DATE|NOT_YET|EXPIRED|IN_FORCE|TIMESTAMP|GRANTS|APPRAISALS)$/;
const unixSeconds = /(?<![\w.])[12]\d{9}(?![\w.])/g;
const wholeSecond = /(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.000Z/g;

/** What a check expected or got, with times as on the rest of the page: `1771996400 (2026-02-25 05:13:20 UTC)`. */
export function saidBy({ code }: { readonly code: string }, text: string): string {
  const said = plain(text).replace(wholeSecond, '$1 $2 UTC');
  if (!ofTime.test(code)) return said;
  return said.replace(unixSeconds, (seconds) => `${seconds} (${utc(Number(seconds))} UTC)`);
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export const grouped = (value: number | bigint): string => value.toLocaleString('en-US');

/** Ether with what a person reads of it; wei are exact and long. */
export function ether(wei: string): string {
  const value = Number(wei) / 1e18;
  if (value === 0) return '0 ETH';
  if (value < 1e-9) return `${Number(wei).toLocaleString('en-US')} wei`;
  return `${value >= 0.001 ? Number(value.toFixed(4)) : value.toPrecision(2)} ETH`;
}
