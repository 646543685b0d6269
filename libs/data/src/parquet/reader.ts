/**
 * Reads Parquet in a process of its own, one request after the other: a file can keep its reader busy without end, and can
 * make the runtime give up over an array that grows too long, which ends a process with all its threads.
 */
import { once } from 'node:events';
import type { FileMetaData } from 'hyparquet';
import { nodeCommand, startProcess, type StartedProcess } from '#libs/process';
import * as limits from '../limits.js';
import type { Columns, GroupRequest, MetadataRequest } from './read.js';

let reader: StartedProcess | null = null;
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
  if (reader?.isRunning() !== true) reader = await started();
  const asked = reader;
  hold(asked, 'ref');
  try {
    asked.child.send(request);
    const { error, value } = await answerOf(asked, milliseconds);
    if (error !== undefined) throw new Error(error);
    return value;
  } finally {
    hold(asked, 'unref');
  }
}

/** A reader that nobody waits for keeps no program from ending. */
function hold({ child }: StartedProcess, act: 'ref' | 'unref'): void {
  child[act]();
  child.channel?.[act]();
}

interface Answer {
  readonly value: unknown;
  readonly error?: string;
}

async function answerOf(asked: StartedProcess, milliseconds: number): Promise<Answer> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), milliseconds);
  const ended = asked.exited.then((status) => {
    throw new Error(`its reader ended with ${status ?? 'a signal'}`);
  });
  try {
    const [answer] = await Promise.race([once(asked.child, 'message', { signal: over.signal }), ended]);
    return answer as Answer;
  } catch (error) {
    await asked.kill();
    throw over.signal.aborted
      ? new Error(`nothing after ${(milliseconds / 1000).toFixed(1)} s`, { cause: error })
      : error;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** Awaits its first word, so that the time of a request is that of reading. */
async function started(): Promise<StartedProcess> {
  const command = nodeCommand(
    './reader-main',
    import.meta.url,
    [],
    [`--max-old-space-size=${limits.parquetHeapMebibytes}`],
  );
  const stdio: ['ignore', 'ignore', 'ignore', 'ipc'] = ['ignore', 'ignore', 'ignore', 'ipc'];
  const begun = startProcess(command, { stdio, serialization: 'advanced', endsWithUs: true });
  await answerOf(begun, limits.parquetStartMilliseconds);
  return begun;
}
