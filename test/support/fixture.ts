/** Files of `fixtures/`, which a build does not copy: they are read where they are kept, from the sources and from a build. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function fixturePath(name: string): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'test', 'support', 'fixtures', name);
}
