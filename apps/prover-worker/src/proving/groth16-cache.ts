/** Where circuits and keys stay between runs: all of it can be made again. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const groth16Cache = join(packageFolder(), '.veritrain', 'cache', 'groth16');

/** The folder of package.json, whether this is the source or what was built from it. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
