/** A value that was refused, as its refusal may show it: short, and nothing that is kept secret. */

/** Names of fields that hold secrets, or what opens one. */
const closed = /key|secret|token|password|auth|cookie|salt|seed|opening|cipher|sealed/i;
const charactersShown = 64;

/**
 * @param below  path from `value` to the part that is wrong
 * @param names  all names on the way to it
 */
export function shownValue(value: unknown, below: readonly string[], names: readonly string[]): string {
  if (names.some((name) => closed.test(name))) return 'another value';
  let part = value;
  for (const name of below) part = typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined;
  if (part === undefined) return 'none';
  if (Array.isArray(part)) return `a list of ${part.length}`;
  if (typeof part === 'object' && part !== null) return 'an object';
  return typeof part === 'string' ? shownText(part) : String(part).slice(0, charactersShown);
}

/** Paths and queries of an address may let in whoever knows them. */
function shownText(text: string): string {
  const open = text.replace(/(:\/\/[^/?#]*)[/?#].+$/s, '$1/…');
  return JSON.stringify(open.length <= charactersShown ? open : `${open.slice(0, charactersShown)}…`);
}
