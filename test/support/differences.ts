/** What is not the same in two parsed messages. */
import { toHex } from '#attestation/base';

/** Paths of the leaves that differ: `sessions[0].appraisedAt`. */
export function differences(a: unknown, b: unknown, path = ''): string[] {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return toHex(a) === toHex(b) ? [] : [path];
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    return a.flatMap((one, at) => differences(one, b[at], `${path}[${at}]`));
  }
  if (isRecord(a) && isRecord(b)) {
    return Object.keys(a).flatMap((name) => differences(a[name], b[name], path === '' ? name : `${path}.${name}`));
  }
  return a === b ? [] : [path];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
