/** Members of parsed JSON, each of its type and in its range or refused (libs/step/SPEC.md §3). */
import { refuse } from './errors.js';
import * as limits from './limits.js';

const rule = 'libs/step/SPEC.md §3';

export function record(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse('MANIFEST_TYPE', `${name} as an object`, value, rule);
  }
  return value as Record<string, unknown>;
}

export function onlyMembers(o: Record<string, unknown>, known: ReadonlySet<string>, name: string): void {
  for (const key of Object.keys(o)) {
    if (!known.has(key)) refuse('MANIFEST_UNKNOWN_FIELD', `${name} with ${[...known].join(', ')}`, key, rule);
  }
}

export function integer(value: unknown, name: string, low: number, high: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    refuse('MANIFEST_TYPE', `${name} as an integer`, value, rule);
  }
  if (value < low || value > high) refuse('MANIFEST_RANGE', `${name} in ${low}..${high}`, value, rule);
  return value === 0 ? 0 : value;
}

export function integers(value: unknown, name: string, low: number, high: number, length?: number): number[] {
  if (!Array.isArray(value)) refuse('MANIFEST_TYPE', `${name} as a list`, value, rule);
  if (length !== undefined && value.length !== length) {
    refuse('MANIFEST_LENGTH', `${length} entries in ${name}`, value.length, rule);
  }
  if (value.length > limits.layersMax + 1) refuse('MANIFEST_LENGTH', `a short list in ${name}`, value.length, rule);
  return value.map((entry) => integer(entry, name, low, high));
}
