/** The loop that every target runs in: mutants by a seed, verdicts on them, and what memory it took. */
import { CodedError } from '#attestation/base';
import { random, type Draw } from './random.js';

/**
 * `refused`: with an error that has a code. `taken`: the mutant says what the genuine input says, or differs in nothing that a
 * signature or digest binds. Anything else is a failure in words: `accepted`, or how it crashed.
 */
export type Verdict = 'refused' | 'taken' | (string & {});

interface Trial {
  readonly target: string;
  /** To see the mutant again: hexadecimal, or how it was made. */
  input(): string;
  run(): Promise<Verdict> | Verdict;
}

interface FuzzFailure {
  readonly target: string;
  readonly what: string;
  readonly input: string;
}

export interface FuzzReport {
  readonly seed: number;
  readonly inputs: number;
  readonly refused: number;
  readonly taken: number;
  /** Mutants that were accepted. */
  readonly accepted: number;
  /** Mutants that made the verifier crash, or took memory without bound. */
  readonly crashes: number;
  /** The first hundred of them: always empty, or there is a bug. */
  readonly failures: readonly FuzzFailure[];
  /** Highest resident memory of the process, bytes, and how far that is above the first mutant's. */
  readonly peakBytes: number;
  readonly grownBytes: number;
}

interface Progress {
  readonly done: number;
  readonly failed: number;
  readonly residentBytes: number;
}

export type OnProgress = (progress: Progress) => void;

const failuresKept = 100;
const grownBytesMax = 2 ** 30;
const look = 64;

/** @param trialOf draws one mutant; `k` counts them */
export async function fuzz(
  count: number,
  seed: number,
  trialOf: (draw: Draw, k: number) => Trial | Promise<Trial>,
  onProgress: OnProgress = () => undefined,
): Promise<FuzzReport> {
  const draw = random(seed);
  const failures: FuzzFailure[] = [];
  const counts = { refused: 0, taken: 0, accepted: 0, crashes: 0 };
  const began = process.memoryUsage.rss();
  let peakBytes = began;
  for (let k = 0; k < count; k++) {
    const trial = await trialOf(draw, k);
    const what = await verdictOf(trial);
    const kind = kindOf(what);
    counts[kind] += 1;
    if ((kind === 'accepted' || kind === 'crashes') && failures.length < failuresKept) {
      failures.push({ target: trial.target, what, input: trial.input() });
    }
    if (k % look !== 0 && k !== count - 1) continue;
    const residentBytes = process.memoryUsage.rss();
    peakBytes = Math.max(peakBytes, residentBytes);
    onProgress({ done: k + 1, failed: counts.accepted + counts.crashes, residentBytes });
  }
  const grownBytes = peakBytes - began;
  if (grownBytes > grownBytesMax) {
    counts.crashes += 1;
    const what = `memory grew by ${grownBytes} bytes; expected at most ${grownBytesMax}`;
    failures.push({ target: 'memory', what, input: `seed ${seed}, ${count} mutants` });
  }
  return { seed, inputs: count, ...counts, failures, peakBytes, grownBytes };
}

const expected = ['refused', 'taken', 'accepted'] as const;

function kindOf(what: Verdict): 'refused' | 'taken' | 'accepted' | 'crashes' {
  return expected.find((kind) => kind === what) ?? 'crashes';
}

async function verdictOf(trial: Trial): Promise<Verdict> {
  try {
    return await trial.run();
  } catch (error) {
    return crashed(error);
  }
}

/**
 * What comes of handing a mutant over.
 * @param accept says what an answer without an error means
 * @param codes  that a refusal may have
 */
export async function judged<T>(
  act: () => Promise<T> | T,
  accept: (answer: T) => Verdict = () => 'accepted',
  codes = /^[A-Z][A-Z0-9_]{2,63}$/,
): Promise<Verdict> {
  let answer: T;
  try {
    answer = await act();
  } catch (error) {
    if (!(error instanceof CodedError)) return crashed(error);
    return codes.test(error.code) ? 'refused' : `refused with ${error.code}`;
  }
  return accept(answer);
}

function crashed(error: unknown): string {
  return error instanceof Error ? `crashed: ${error.name}: ${error.message}` : `crashed: ${String(error)}`;
}
