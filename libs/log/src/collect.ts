/** Partial tiles and bundles that nobody needs any more: the full one is there, and has been for a while. */
import type { LogFiles } from './store/files.js';
import { entriesPath, tilePath, tileWidth } from './tiles/paths.js';

interface Collected {
  readonly removed: number;
  /** Full tiles whose partial ones are still within their time. */
  readonly young: number;
}

/**
 * @param size  of the published tree
 * @param keptMs  how long a full file must have been there: readers of an older checkpoint may still ask for a partial one
 */
export async function collectPartials(
  files: LogFiles,
  size: number,
  { now, keptMs }: { readonly now: Date; readonly keptMs: number },
): Promise<Collected> {
  let [removed, young] = [0, 0];
  for (const path of fullPaths(size)) {
    const names = (await files.list(`${path}.p`)).filter((name) => /^[1-9]\d{0,2}$/.test(name));
    if (names.length === 0) continue;
    const writtenAt = await files.writtenAt(path);
    if (writtenAt === null || now.getTime() - writtenAt.getTime() < keptMs) {
      young++;
      continue;
    }
    for (const name of names) await files.remove(`${path}.p/${name}`);
    removed += names.length;
  }
  return { removed, young };
}

function* fullPaths(size: number): Iterable<string> {
  let count = Math.floor(size / tileWidth);
  for (let index = 0; index < count; index++) yield entriesPath(index);
  for (let level = 0; count > 0; level++, count = Math.floor(count / tileWidth)) {
    for (let index = 0; index < count; index++) yield tilePath(level, index);
  }
}
