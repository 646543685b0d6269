/** Canonical JSON (RFC 8785) of what manifests and headers need: objects, lists, strings, finite numbers, true, false, null. */

export type CanonicalValue =
  string | number | boolean | null | readonly CanonicalValue[] | { readonly [name: string]: CanonicalValue };

/**
 * @returns RFC 8785 text: members sorted by UTF-16 code units, no white space, the shortest digits of a double
 * @throws  TypeError for a number that is not finite or is -0 (a bug of the caller: manifests and headers are parsed first)
 */
export function canonicalJson(value: CanonicalValue): string {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value);
  if (typeof value === 'number') return canonicalNumber(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name]!)}`);
  return `{${members.join(',')}}`;
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value) || Object.is(value, -0)) throw new TypeError(`canonical JSON: ${value}`);
  return String(value);
}

function isArray(value: CanonicalValue): value is readonly CanonicalValue[] {
  return Array.isArray(value);
}
