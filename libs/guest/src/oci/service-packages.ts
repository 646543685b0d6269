/** The packages that services load, followed through package-lock.json as Node and npm resolve them. */
import { posix } from 'node:path';
import { ConfigurationError } from '#attestation/base';

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Packages by folder, as package-lock.json has them. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/**
 * @param roots  names of packages that the program imports
 * @param optional  of the packages that a machine may lack, those that are taken
 * @returns folders in the order of bytes
 * @throws ConfigurationError SERVICES_PACKAGE
 */
export function packageFolders(
  packages: LockedPackages,
  roots: readonly string[],
  optional: readonly string[],
): readonly string[] {
  const found = new Set<string>();
  const waiting = roots.map((name) => ({ name, from: '', isNeeded: true }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const folder = folderOf(packages, next.name, next.from);
    if (folder === undefined) {
      if (next.isNeeded) throw absent(next.name, next.from);
      continue;
    }
    const entry = packages[folder]!;
    if (found.has(folder)) continue;
    found.add(folder);
    const add = (names: Readonly<Record<string, string>> = {}, isNeeded: boolean): void => {
      for (const name of Object.keys(names)) waiting.push({ name, from: folder, isNeeded });
    };
    const { optionalDependencies = {}, dependencies = {}, peerDependencies } = entry;
    add(Object.fromEntries(Object.entries(dependencies).filter(([name]) => !(name in optionalDependencies))), true);
    add(Object.fromEntries(Object.entries(optionalDependencies).filter(([name]) => optional.includes(name))), true);
    add(peerDependencies, false);
  }
  return [...found].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The nearest folder that has it. Packages of development and those that are absent are none. */
function folderOf(packages: LockedPackages, name: string, from: string): string | undefined {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const above = folder === '.' ? '' : folder;
    const candidate = posix.join(above, 'node_modules', name);
    if (posix.basename(above) !== 'node_modules' && packages[candidate] !== undefined)
      return packages[candidate].dev === true ? undefined : candidate;
    if (above === '') return undefined;
  }
}

function absent(name: string, from: string): ConfigurationError {
  return new ConfigurationError('SERVICES_PACKAGE', {
    ...{ expected: `${name}, which ${from || 'the program'} loads, in package-lock.json`, got: 'none' },
    ...{ rule: 'apps/cli/README.md, images of the services', action: 'npm ci' },
  });
}
