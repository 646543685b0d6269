/** How Node finds a module (Node.js documentation, Modules: Packages): `exports`, `imports`, `main`, and endings for `require`. */
import { posix } from 'node:path';

export interface PackageJson {
  readonly main?: unknown;
  readonly exports?: unknown;
  readonly imports?: unknown;
}

interface Search {
  has(path: string): boolean;
  /** `require` adds endings; `import` does not. */
  readonly isFree: boolean;
  readonly description?: PackageJson;
  readonly conditions?: readonly string[];
}

/**
 * @param place  a file, or the folder of a package
 * @param name  `.`, `./PATH` or `#NAME` in the package; absent for a file
 */
export function moduleIn(search: Search, place: string, name?: string): string | undefined {
  if (name === undefined) return file(search, place);
  const { description = {}, conditions = [] } = search;
  const map = name.startsWith('#') ? description.imports : description.exports;
  if (map !== undefined && map !== null) {
    const target = mapped(map, name, conditions);
    return target === undefined ? undefined : existing(search, posix.join(place, target));
  }
  if (name !== '.') return file(search, posix.join(place, name));
  const main = typeof description.main === 'string' ? description.main : 'index.js';
  return file({ ...search, isFree: true }, posix.join(place, main));
}

function existing({ has }: Search, path: string): string | undefined {
  return has(path) ? path : undefined;
}

function file(search: Search, path: string): string | undefined {
  const endings = search.isFree ? ['', '.js', '.json', '/index.js'] : [''];
  return endings.map((ending) => existing(search, posix.normalize(`${path}${ending}`))).find(Boolean);
}

function mapped(map: unknown, name: string, conditions: readonly string[]): string | undefined {
  const isTable = typeof map === 'object' && map !== null && Object.keys(map).some((key) => /^[.#]/.test(key));
  if (!isTable) return name === '.' ? target(map, conditions) : undefined;
  const table = map as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(table, name)) return target(table[name], conditions);
  const fits = Object.keys(table)
    .filter((key) => key.includes('*') && name.startsWith(key.split('*')[0]!) && name.endsWith(key.split('*')[1]!))
    .sort((a, b) => b.indexOf('*') - a.indexOf('*'))[0];
  if (fits === undefined) return undefined;
  const [before, after] = fits.split('*') as [string, string];
  const middle = name.slice(before.length, name.length - after.length);
  return target(table[fits], conditions)?.replaceAll('*', middle);
}

/** The first of its conditions that holds, in the order that the package writes them. */
function target(value: unknown, conditions: readonly string[]): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [condition, inner] of Object.entries(value)) {
    const found = conditions.includes(condition) ? target(inner, conditions) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
