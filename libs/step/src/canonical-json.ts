/** Canonical JSON (RFC 8785) of the subset a manifest needs: objects, arrays, strings and safe integers. */

export type CanonicalValue = string | number | readonly CanonicalValue[] | { readonly [name: string]: CanonicalValue };

/**
 * @returns RFC 8785 text: members sorted by UTF-16 code units, no white space
 * @throws  TypeError for a number that is not a safe integer (a bug of the caller: manifests are parsed first)
 */
export function canonicalJson(value: CanonicalValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) throw new TypeError('canonical JSON: integers only');
    return String(value);
  }
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name]!)}`);
  return `{${members.join(',')}}`;
}

function isArray(value: CanonicalValue): value is readonly CanonicalValue[] {
  return Array.isArray(value);
}
