/** Files and folders that are there whole or not at all. */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Has `make` make a file or a folder at a place of its own, and moves it to `target`: a toolchain that is ended in the
 * middle leaves nothing. Where another process was faster, its work stays.
 */
export async function makeWhole(target: string, make: (path: string) => Promise<unknown>): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const work = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
  try {
    const made = join(work, basename(target));
    await make(made);
    await rename(made, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
