/**
 * The engine as a process of the enclave's code; it speaks JSON on its standard streams (enclave/SPEC.md, engine alone).
 */
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { reportedError } from '#attestation/base';
import type { EdgeFigures } from '#libs/client/api';
import { nodeCommand, startProcess, type StartedProcess } from '#libs/process';
import { log } from '../output.js';

export interface EngineReport {
  readonly digests: Readonly<Record<string, string>>;
  readonly samplesPerSecond: number;
  /** Of a run with a checkpoint: steps that it had done before. */
  readonly resumedFrom?: number;
  /** Of a run that a rule may end: steps done, and the best state, which is the one that was written. */
  readonly best?: { readonly done: number; readonly step: number; readonly digest: string };
}

/** Figures of the steps since the last ones. */
export interface EngineProgress {
  readonly step: number;
  readonly loss: number;
  readonly accuracy: number;
  readonly edges: readonly EdgeFigures[];
}

/** Of the rows kept apart. */
export interface EngineEvaluation {
  readonly step: number;
  /** Whole numbers as decimal digits. */
  readonly metrics: readonly { readonly metric: string; readonly numerator: string; readonly denominator: string }[];
}

/** Longer than a signal takes to end this process. */
const signalMs = 5000;

/** @param onTold absent: figures go to standard error as they come */
export async function runEngine(
  request: Readonly<Record<string, unknown>> & { readonly checkpoint?: { readonly path: string } },
  onTold?: (told: EngineProgress | EngineEvaluation) => void,
): Promise<EngineReport> {
  const command = nodeCommand('../../../../enclave/src/engine/engine-main', import.meta.url);
  const started = startProcess(command, {
    ...{ endsWithUs: true, stdio: ['pipe', 'pipe', onTold === undefined ? 'inherit' : 'pipe'] },
  });
  const { child, exited } = started;
  if (child.pid === undefined) throw await unstarted(child);
  const signalled = endedBySignals(started, request.checkpoint?.path);
  child.stdin!.on('error', () => undefined).end(JSON.stringify(request));
  // The report may be read before the last figures, which are to come before it.
  const [printed, words] = await Promise.all([
    text(child.stdout!),
    onTold === undefined ? [] : heard(child.stderr!, onTold),
  ]).catch(async (error: unknown) => {
    await started.kill();
    throw error;
  });
  await signalled.settled();
  const answer = JSON.parse(printed || '{}') as EngineReport & { error?: Record<string, string> };
  if (answer.error === undefined && answer.digests !== undefined) return answer;
  if (answer.error !== undefined) throw reportedError(answer.error);
  for (const line of words) log(line);
  const status = await exited;
  throw failed(
    `nothing; it ended ${status === null ? `by ${child.signalCode}` : `with status ${status}`}`,
    'see its own words, if there are any; a SIGKILL is mostly for lack of memory',
  );
}

function failed(got: string, action: string): Error {
  const expected = 'a report of the engine';
  return reportedError({ code: 'ENGINE_FAILED', expected, got, rule: 'enclave/SPEC.md, engine alone', action });
}

async function unstarted(child: StartedProcess['child']): Promise<Error> {
  const { message } = await new Promise<Error>((resolve) => child.once('error', resolve));
  return failed(`nothing; its process did not start (${message})`, 'free memory, or end other processes');
}

/** Lines kept of what an engine says besides figures. */
const wordsMax = 50;

/** Hands on figures as they come. @returns the last lines that are none, when there are no more */
async function heard(
  stream: Readable,
  onTold: (told: EngineProgress | EngineEvaluation) => void,
): Promise<readonly string[]> {
  const words: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    if (line.startsWith('{"step"')) onTold(JSON.parse(line) as EngineProgress | EngineEvaluation);
    else words.push(line);
    if (words.length > wordsMax) words.shift();
  }
  return words;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * A signal to this process alone, unlike Ctrl-C of a terminal, does not reach the engine: it is ended first, then this
 * process as by the signal. What the engine keeps it writes whole, so that the last checkpoint stays.
 */
function endedBySignals({ kill, exited }: StartedProcess, checkpoint?: string): { settled(): Promise<void> } {
  let ending: Promise<void> | undefined;
  const leave = (): void => {
    for (const signal of signals) process.removeListener(signal, end);
  };
  const end = (signal: NodeJS.Signals): void => {
    ending ??= kill().then(() => {
      leave();
      const isKept = checkpoint !== undefined && existsSync(checkpoint);
      log(`ended by ${signal}; ${isKept ? `the same command goes on from ${checkpoint}` : 'nothing of it is kept'}`);
      process.kill(process.pid, signal);
      // The signal comes in a later turn, in which nobody may take the engine's end for a failure.
      return delay(signalMs);
    });
  };
  for (const signal of signals) process.on(signal, end);
  void exited.then(() => ending ?? leave());
  return { settled: async () => ending };
}
