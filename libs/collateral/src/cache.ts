/**
 * Answers on disk, one file per key: a line of JSON, then the body. Files appear whole or not at all (written aside, then
 * renamed), so several processes may share a directory. A damaged file counts as absent.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';

export interface CachedAnswer {
  readonly key: string;
  readonly url: string;
  /** Unix milliseconds. */
  readonly fetchedAt: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Every method throws ConfigurationError COLLATERAL_DIRECTORY when the directory cannot be used. */
export class AnswerCache {
  constructor(private readonly directory: string) {}

  async read(key: string): Promise<CachedAnswer | undefined> {
    const file = await readFile(this.pathOf(key)).catch((error: NodeJS.ErrnoException) => this.absent(error));
    const end = file?.indexOf(10) ?? -1;
    if (file === undefined || end < 0) return undefined;
    const body = new Uint8Array(file.subarray(end + 1));
    const head = parseHead(file.subarray(0, end).toString());
    return head?.key === key && head.sha256 === sha256(body) ? { ...head, body } : undefined;
  }

  async write(answer: CachedAnswer): Promise<void> {
    const { body, ...head } = answer;
    const path = this.pathOf(answer.key);
    const aside = `${path}.${randomUUID()}`;
    const line = Buffer.from(`${JSON.stringify({ ...head, sha256: sha256(body) })}\n`);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(aside, Buffer.concat([line, body]), { flag: 'wx', flush: true });
      await rename(aside, path);
    } catch (error) {
      await rm(aside, { force: true });
      throw this.unusable(error as NodeJS.ErrnoException);
    }
  }

  async remove(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  private absent(error: NodeJS.ErrnoException): undefined {
    if (error.code !== 'ENOENT') throw this.unusable(error);
    return undefined;
  }

  private unusable(error: NodeJS.ErrnoException): ConfigurationError {
    return new ConfigurationError('COLLATERAL_DIRECTORY', {
      expected: `a directory to read and write: ${this.directory}`,
      got: error.code ?? error.message,
      rule: 'collateral cache',
      action: 'check the path, its rights and the free space',
    });
  }

  private pathOf(key: string): string {
    const name = sha256(Buffer.from(key));
    return join(this.directory, name.slice(0, 2), name.slice(2));
  }
}

interface Head extends Omit<CachedAnswer, 'body'> {
  readonly sha256: string;
}

function parseHead(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Head>;
    return typeof head.key === 'string' && typeof head.fetchedAt === 'number' && head.headers
      ? (head as Head)
      : undefined;
  } catch {
    return undefined;
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
