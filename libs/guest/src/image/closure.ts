/** What a Node program loads, followed from its first modules through imports, `require` and packages, as Node resolves them. */
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { moduleIn, type PackageJson } from './resolve.js';

interface Program {
  /** First modules, by path. */
  readonly entries: readonly string[];
  /** Modules that are loaded by name alone (`import('…')`) and are left out. */
  readonly without: readonly string[];
  /** Packages that a module tries, and does without. */
  readonly absent: readonly string[];
  /** The `imports` of the program's own package.json. */
  readonly imports: Readonly<Record<string, unknown>>;
  /** Folders of packages, for example `node_modules/cbor-x`: nothing else is a package. */
  readonly packages: readonly string[];
  /** Files of packages that are loaded, and imported by none. */
  readonly loaded: readonly string[];
  /** Undefined where there is no such file. */
  read(path: string): Uint8Array | undefined;
}

interface Wanted {
  readonly name: string;
  readonly way: 'import' | 'named' | 'require';
}

/** @returns paths in the order of bytes. @throws ConfigurationError GUEST_CLOSURE */
export function programFiles(program: Program): readonly string[] {
  const files = new Set<string>();
  const waiting = [...program.entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue;
    const bytes = program.read(path);
    if (bytes === undefined) throw refused(`${path} among what is built and fetched`, 'no such file');
    files.add(path);
    for (const folder of foldersAbove(path, program.packages)) {
      const description = `${folder}/package.json`;
      if (program.read(description) !== undefined) files.add(description);
    }
    if (!/\.[cm]?js$/.test(path)) continue;
    for (const wanted of wantedBy(Buffer.from(bytes).toString('utf8'))) {
      const next = resolved(program, path, wanted);
      if (next === null) continue;
      if (program.without.includes(next)) {
        if (wanted.way !== 'named') throw refused(`${next} loaded by name alone`, `an import in ${path}`);
      } else waiting.push(next);
    }
  }
  const used = [...files, ...program.loaded];
  const idle = program.packages.filter((folder) => !used.some((path) => path.startsWith(`${folder}/`)));
  if (idle.length > 0) throw refused('packages that the program loads', `${idle.join(', ')} that it does not`);
  return [...files].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Folders of the file's package down to the file: each may say in package.json what kind its modules are. */
function foldersAbove(path: string, packages: readonly string[]): string[] {
  const base = packages.filter((folder) => path.startsWith(`${folder}/`)).sort((a, b) => b.length - a.length)[0];
  const folders: string[] = [];
  if (base === undefined) return folders;
  for (let folder = posix.dirname(path); folder.length >= base.length; folder = posix.dirname(folder))
    folders.push(folder);
  return folders;
}

const ways: readonly (readonly [Wanted['way'], RegExp])[] = [
  ['import', /\b(?:import|export)\b(?:[\w$*{}\s,]*?\bfrom)?\s*["']([^"'\n]+)["']/g],
  ['named', /\bimport\(\s*["']([^"'\n]+)["']\s*\)/g],
  ['require', /\brequire\(\s*["']([^"'\n]+)["']\s*\)/g],
];

function wantedBy(source: string): Wanted[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return ways.flatMap(([way, pattern]) => [...code.matchAll(pattern)].map(([, name]) => ({ name: name!, way })));
}

/** @returns null for what is no file of the image: modules of Node, packages that are tried */
function resolved(program: Program, from: string, { name, way }: Wanted): string | null {
  if (isBuiltin(name) || program.absent.includes(name)) return null;
  const conditions = ['node', way === 'require' ? 'require' : 'import', 'default'];
  const has = (path: string): boolean => program.read(path) !== undefined;
  const isFree = way === 'require';
  if (name.startsWith('.')) {
    const found = moduleIn({ has, isFree }, posix.join(posix.dirname(from), name));
    if (found === undefined) throw refused(`${name} as ${from} names it`, 'no such file');
    return found;
  }
  const owner = { imports: program.imports } as PackageJson;
  const found = name.startsWith('#')
    ? moduleIn({ has, isFree, description: owner, conditions }, '.', name)
    : inPackages(program, from, name, { has, isFree, conditions });
  if (found === undefined) throw refused(`${name}, which ${from} loads, among the packages of the image`, 'another');
  return found;
}

function inPackages(
  { packages, read }: Program,
  from: string,
  name: string,
  options: Omit<Parameters<typeof moduleIn>[0], 'description'>,
): string | undefined {
  const [, packageName, subpath] = /^((?:@[^/]+\/)?[^/]+)(?:\/(.+))?$/.exec(name) ?? [];
  for (let folder = posix.dirname(from); ; folder = posix.dirname(folder)) {
    const candidate = posix.join(folder, 'node_modules', packageName ?? '');
    if (packages.includes(candidate)) {
      const text = read(`${candidate}/package.json`);
      const description = JSON.parse(Buffer.from(text ?? Buffer.from('{}')).toString('utf8')) as PackageJson;
      return moduleIn({ ...options, description }, candidate, subpath === undefined ? '.' : `./${subpath}`);
    }
    if (folder === '.' || folder === '/') return undefined;
  }
}

function refused(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_CLOSURE', {
    ...{ expected, got, rule: 'enclave/guest/README.md, image' },
    action: 'name what the program loads in the image of its flavour, or do not load it',
  });
}
