/** Where the files of a sealed data set are. */
import { join } from 'node:path';

export function shardPath(folder: string, index: number): string {
  return join(folder, `shard-${String(index).padStart(5, '0')}.bin`);
}
