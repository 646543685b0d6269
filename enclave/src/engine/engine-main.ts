/**
 * The engine alone as a process. One JSON request on stdin (EngineRequest in engine-run.ts), for example
 *   {"manifest":{…},"images":"train-images","labels":"train-labels","digestAt":[0,1,4],"threads":1}
 * or, for nets of fxt 2, {"manifest":{…},"records":"records","digestAt":[0,1,4],"out":"state"}.
 * One JSON document on stdout: {"digests":{"0":"…"},"samplesPerSecond":n} and exit status 0, or
 *   {"error":{"code","family","expected","got","rule"}} and exit status 1.
 * Progress on stderr, one JSON object per line: {"step","loss","accuracy","edges"}; `"isCounted":true` has nets of fxt 2 count
 * on their edges (libs/step/SPEC.md §21.1), and `"validation":"records"` measures on the way: {"step","metrics"}.
 */
import { existsSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { CodedError, ConfigurationError, Rejection } from '#attestation/base';
import { idxBytesMax, manifestBytesMax } from '#libs/step';
import { parseEngineRequest, runEngine, type EngineReport } from './engine-run.js';

const requestBytesMax = 2 * manifestBytesMax;

async function readStdin(): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > requestBytesMax) {
      throw new Rejection('ENGINE_REQUEST', {
        expected: `at most ${requestBytesMax} bytes`,
        got: 'more',
        rule: 'enclave engine request',
      });
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Rejection('ENGINE_REQUEST', { expected: 'JSON text', got: 'other text', rule: 'RFC 8259' });
  }
}

async function readLimited(path: string): Promise<Uint8Array> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : -1),
    () => -1,
  );
  if (size < 0) {
    throw new ConfigurationError('IDX_FILE_UNREADABLE', {
      expected: 'a readable file',
      got: path,
      rule: 'engine request',
    });
  }
  if (size > idxBytesMax) {
    throw new Rejection('IDX_OVERSIZE', {
      expected: `at most ${idxBytesMax} bytes`,
      got: `${size}`,
      rule: 'IDX file format',
    });
  }
  return readFile(path);
}

async function writeParts(path: string, parts: Iterable<Uint8Array>): Promise<void> {
  const partial = `${path}.partial`;
  try {
    const file = await open(partial, 'w', 0o600);
    try {
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    const { errno, code = '' } = error as NodeJS.ErrnoException;
    // Without a number of the operating system it is a fault of the parts.
    throw errno === undefined ? error : unwritable(path, code);
  }
}

function unwritable(path: string, code: string): ConfigurationError {
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new ConfigurationError('FILE_UNWRITABLE', {
    expected: `a file that can be written at ${path}`,
    got: isFull ? `no space left (${code})` : code,
    rule: 'engine request',
    action: isFull ? 'free some space on that disk' : 'name another path, or see what stands there',
  });
}

const tell = (told: object): void => void process.stderr.write(`${JSON.stringify(told)}\n`);

async function main(): Promise<EngineReport> {
  const request = parseEngineRequest(await readStdin());
  return runEngine(
    request,
    {
      read: readLimited,
      find: (path) => (existsSync(path) ? readLimited(path) : Promise.resolve(null)),
      write: writeParts,
    },
    () => performance.now(),
    { onProgress: tell, onEvaluation: tell },
  );
}

try {
  process.stdout.write(`${JSON.stringify(await main())}\n`);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.stdout.write(`${JSON.stringify({ error: error.toJSON() })}\n`);
  process.exitCode = 1;
}
