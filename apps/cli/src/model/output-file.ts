/** A table of results that stands whole at its path or not at all, and never in the place of what it was made from. */
import { realpathSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { makeFolder, unwritable } from '#libs/client/files';
import { usage } from './data.js';

interface OutputFile {
  write(text: string): Promise<void>;
  /** The file is at its path now. */
  keep(): Promise<void>;
  /** Nothing is left of it, unless it was kept. */
  drop(): Promise<void>;
}

const otherFormats = /\.(xlsx?|ods|parquet|json|tsv|npy|npz)$/i;

/** @throws ConfigurationError USAGE where the name promises a format that is not written */
export function checkFormat(path: string): void {
  if (!otherFormats.test(path)) return;
  throw usage('--out as .csv, or as .jsonl for an object a line', path, 'name a .csv, which spreadsheets open too');
}

/** @param sources  files and folders that are read @throws ConfigurationError USAGE where it is one of them or in one; FILE_UNWRITABLE */
export async function openOutput(path: string, sources: readonly string[]): Promise<OutputFile> {
  makeFolder(dirname(path));
  const place = join(realpathSync(dirname(path)), basename(path));
  const real = realOf(place) ?? place;
  const source = sources.find((one) => isIn(realOf(one) ?? one, real));
  if (source !== undefined) throw usage('--out outside of what is read', path);
  const partial = `${place}.partial-${process.pid}`;
  const file = await open(partial, 'w', 0o600).catch((error: unknown) => {
    throw unwritable('file', path, error);
  });
  return {
    async write(text) {
      try {
        await file.writeFile(text);
      } catch (error) {
        throw unwritable('file', path, error);
      }
    },
    async keep() {
      await file.close();
      try {
        renameSync(partial, place);
      } catch (error) {
        throw unwritable('file', path, error);
      }
    },
    async drop() {
      await file.close();
      rmSync(partial, { force: true });
    },
  };
}

/** Whether a path is a file or folder itself, or is below it. */
function isIn(source: string, path: string): boolean {
  const way = relative(source, path);
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`);
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
