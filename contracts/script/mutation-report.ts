/** Tries mutants in both rounds and writes down every outcome: a run goes on from the report of an earlier one. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant, PlacedMutant } from './mutants.js';
import { copyDigest, judge, prepareCopy, rounds } from './mutation-copy.js';

/** `open`: it survived the first round, and the second was not run yet. */
interface Result extends Mutant {
  /** From 1, in the order of the mutants. */
  readonly number: number;
  outcome: 'killed' | 'open' | 'survived';
}

interface Report {
  /** Of sources, tests and mutants. */
  readonly digest: string;
  readonly found: number;
  readonly results: Result[];
}

interface MutationRun {
  /** Where the report is, or goes. */
  readonly file: string;
  /** Those of one file stand together. */
  readonly mutants: readonly PlacedMutant[];
  /** Numbers of those to try. */
  readonly order: readonly number[];
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Few enough that a run that is cut short loses little. */
const chunk = 25;

/** @returns the results of all that were tried, in this run or before */
export async function tryMutants({ file, mutants, order, until }: MutationRun): Promise<readonly Result[]> {
  const digest = createHash('sha256').update(copyDigest()).update(JSON.stringify(mutants)).digest('hex');
  const work = join(tmpdir(), `veritrain-mutation-${digest.slice(0, 12)}`);
  process.stderr.write(`${mutants.length} mutants; compiling them in ${work}\n`);
  prepareCopy(work, mutants);
  for (const round of rounds) {
    await judge(work, round, [0], (_, passed) => {
      if (!passed) throw new Error('the tests fail without any mutant');
    });
  }
  const report = reportIn(file, digest, mutants.length);
  const wanted = new Set(order);
  const results = (): Result[] => report.results.filter(({ number }) => wanted.has(number));

  const tryAll = async (numbers: readonly number[], round: number, tell: (n: number, passed: boolean) => void) => {
    for (let i = 0; i < numbers.length && Date.now() < until; i += chunk) {
      await judge(work, rounds[round]!, numbers.slice(i, i + chunk), tell);
      writeFileSync(file, `${JSON.stringify(report, undefined, 1)}\n`);
      process.stderr.write(`${summary(results(), order.length)}\n`);
    }
  };
  const done = new Set(report.results.map(({ number }) => number));
  const fresh = order.filter((number) => !done.has(number));
  await tryAll(fresh, 0, (number, passed) => {
    const { start: _start, length: _length, ...mutant } = mutants[number - 1]!;
    report.results.push({ number, ...mutant, outcome: passed ? 'open' : 'killed' });
  });
  const open = new Map(
    results()
      .filter(({ outcome }) => outcome === 'open')
      .map((result) => [result.number, result]),
  );
  await tryAll([...open.keys()], 1, (number, passed) => {
    open.get(number)!.outcome = passed ? 'survived' : 'killed';
  });
  return results();
}

function reportIn(file: string, digest: string, found: number): Report {
  if (existsSync(file)) {
    const earlier = JSON.parse(readFileSync(file, 'utf8')) as Report;
    if (earlier.digest === digest) return earlier;
  }
  return { digest, found, results: [] };
}

export function summary(results: readonly Result[], wanted: number): string {
  const count = (outcome: Result['outcome']): number => results.filter((result) => result.outcome === outcome).length;
  const [killed, survived, open] = [count('killed'), count('survived'), count('open')];
  return `${results.length} of ${wanted} tried: ${killed} failed a test, ${survived} survived, ${open} still open`;
}
