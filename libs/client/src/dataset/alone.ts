/** Two processes that seal into one folder would write each other's shards over: one of them is refused. */
import { ConfigurationError } from '#attestation/base';
import { lockFile } from '#libs/process';

/** @throws ConfigurationError SEAL_BUSY where another process seals into `out` */
export async function alone<T>(out: string, work: () => Promise<T>): Promise<T> {
  const lock = lockOf(`${out}.lock`);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function lockOf(path: string): ReturnType<typeof lockFile> {
  try {
    return lockFile(path);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError('SEAL_BUSY', {
      expected: 'no other process that seals into the folder',
      got: error.detail.got,
      rule: 'dataset seal',
      action: 'wait for it, or name another folder with --out',
    });
  }
}
