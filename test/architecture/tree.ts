/** The repository as the architecture tests see it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Its root: the folder of package.json above this file, in the sources as in dist. */
export const root = ((): string => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
})();

/** Every folder with code. */
export const folders = ['apps', 'attestation', 'contracts', 'enclave', 'libs', 'migrations', 'test'] as const;

const made = new Set(['node_modules', 'dist', 'out', 'cache', 'generated', '.veritrain', '.git', 'coverage']);

/** Files below a folder as paths from the root with `/`, what tools generate aside. */
export function filesBelow(folder: string, name: RegExp): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return made.has(entry.name) ? [] : filesBelow(path, name);
    return name.test(entry.name) ? [relative(root, join(root, path)).split(sep).join('/')] : [];
  });
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** What git would commit: tracked files and new ones that it does not ignore. Without git, everything but built output. */
export function committedFiles(): string[] {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const paths = status === 0 ? stdout.split('\0').filter((path) => path !== '') : filesBelow('.', /./);
  return paths.filter((path) => existsSync(join(root, path)) && !statSync(join(root, path)).isDirectory());
}
