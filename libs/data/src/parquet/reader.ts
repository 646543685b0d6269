/**
 * Reads Parquet in a process of its own, one request after the other: a file can keep its reader busy without end, and can
 * make the runtime give up over an array that grows too long, which ends a process with all its threads.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FileMetaData } from 'hyparquet';
import * as limits from '../limits.js';
import type { Columns, GroupRequest, MetadataRequest } from './read.js';

let reader: ChildProcess | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * @param milliseconds that the answer may take
 * @throws Error in the words of what failed, or of the time or memory that it took
 */
export function askParquet(request: MetadataRequest, milliseconds: number): Promise<FileMetaData>;
export function askParquet(request: GroupRequest, milliseconds: number): Promise<Columns>;
export function askParquet(request: MetadataRequest | GroupRequest, milliseconds: number): Promise<unknown> {
  const answer = last.then(() => ask(request, milliseconds));
  last = answer.catch(() => undefined);
  return answer;
}

async function ask(request: MetadataRequest | GroupRequest, milliseconds: number): Promise<unknown> {
  reader ??= started();
  const asked = reader;
  hold(asked, true);
  try {
    asked.send(request);
    const { error, value } = await answerOf(asked, milliseconds);
    if (error !== undefined) throw new Error(error);
    return value;
  } finally {
    hold(asked, false);
  }
}

/** A reader that nobody waits for keeps no program from ending. */
function hold(child: ChildProcess, isHeld: boolean): void {
  const act = isHeld ? 'ref' : 'unref';
  child[act]();
  child.channel?.[act]();
}

interface Answer {
  readonly value: unknown;
  readonly error?: string;
}

async function answerOf(asked: ChildProcess, milliseconds: number): Promise<Answer> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), milliseconds);
  const { signal } = over;
  const ended = once(asked, 'exit', { signal }).then(([code, killed]) => {
    throw new Error(`its reader ended with ${code ?? killed}`);
  });
  try {
    const [answer] = await Promise.race([once(asked, 'message', { signal }), ended]);
    return answer as Answer;
  } catch (error) {
    reader = null;
    asked.kill('SIGKILL');
    throw signal.aborted ? new Error(`nothing after ${milliseconds / 1000} s`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

function started(): ChildProcess {
  const fromSource = import.meta.url.endsWith('.ts');
  const path = fileURLToPath(new URL(fromSource ? './worker.ts' : './worker.js', import.meta.url));
  const source = fromSource ? ['--conditions=source', '--import', '@oxc-node/core/register'] : [];
  const execArgv = [...source, `--max-old-space-size=${limits.parquetHeapMebibytes}`];
  const child = fork(path, { execArgv, serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  child.once('exit', () => {
    if (reader === child) reader = null;
  });
  return child;
}
