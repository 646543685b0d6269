/** Members of a data header's JSON, each of its type and in its range or refused. */
import { refuse } from '../errors.js';
import * as limits from '../limits.js';

const rule = 'libs/step/DATA.md §2';

/** @throws Rejection `HEADER_<what>` always */
export function refuseHeader(what: string, expected: string, got: unknown): never {
  return refuse(`HEADER_${what}`, expected, got, rule);
}

export function object(value: unknown, at: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return refuseHeader('TYPE', `${at} as an object`, value);
}

export function onlyMembers(
  o: Record<string, unknown>,
  needed: readonly string[],
  at: string,
  optional: readonly string[] = [],
): void {
  for (const key of Object.keys(o)) {
    if (!needed.includes(key) && !optional.includes(key)) {
      refuseHeader('UNKNOWN_FIELD', `${at} with ${[...needed, ...optional].join(', ')}`, key);
    }
  }
  for (const key of needed) if (o[key] === undefined) refuseHeader('MISSING_FIELD', `${at}.${key}`, 'nothing');
}

export function list(value: unknown, at: string, most: number, least = 0): readonly unknown[] {
  if (!Array.isArray(value)) return refuseHeader('TYPE', `${at} as a list`, value);
  if (value.length < least || value.length > most) {
    refuseHeader('LENGTH', `${least} to ${most} entries in ${at}`, value.length);
  }
  return value;
}

export function integer(value: unknown, at: string, low: number, high: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    return refuseHeader('TYPE', `${at} as an integer`, value);
  }
  if (value < low || value > high) refuseHeader('RANGE', `${at} in ${low}..${high}`, value);
  return value === 0 ? 0 : value;
}

/** A finite double, never -0. */
export function real(value: unknown, at: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return refuseHeader('TYPE', `${at} as a number`, value);
  return value === 0 ? 0 : value;
}

/** Text of 1 to `nameLengthMax` code units without lone surrogates, so that UTF-8 holds it. */
function text(value: unknown, at: string): string {
  if (typeof value !== 'string') return refuseHeader('TYPE', `${at} as text`, value);
  if (value.length < 1 || value.length > limits.nameLengthMax || /\p{Surrogate}/u.test(value)) {
    refuseHeader('NAME', `${at} of 1 to ${limits.nameLengthMax} well-formed characters`, value);
  }
  return value;
}

export function name(value: unknown, at: string): string {
  return text(value, `${at}.name`);
}

/** Different texts, exactly `length` of them where it is given. */
export function names(value: unknown, at: string, length?: number): readonly string[] {
  const entries = list(value, at, length ?? limits.classesMax, length ?? 1);
  const texts = entries.map((entry, index) => text(entry, `${at}[${index}]`));
  checkDistinct(texts, at);
  return texts;
}

export function checkDistinct(texts: readonly string[], at: string): void {
  const seen = new Set<string>();
  for (const one of texts) {
    if (seen.has(one)) refuseHeader('TWICE', `every name once in ${at}`, one);
    seen.add(one);
  }
}
