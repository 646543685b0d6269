/** A session in one document: ends, what was injected, what it did, what was violated. */
import type { SessionReport } from './session.js';

type Counts = Readonly<Record<string, number>>;

export function summaryOf({ seeds, leaks, leftOut, partitions }: SessionReport) {
  const injected = seeds.flatMap((seed) => seed.injected);
  const withoutEffect = injected.filter(({ effect }) => Object.values(effect).every((count) => count === 0));
  return {
    seeds: seeds.length,
    ends: count(seeds.map(({ end, code }) => (end === 'settled' ? end : `${end} ${code}`))),
    /** Faults by kind. */
    injected: count(injected.map(({ kind }) => kind)),
    /** What they did, as it was seen from outside. */
    effects: total(injected.map(({ effect }) => effect)),
    /** Faults that met nothing: an enclave that was not there, a message that nobody sent. */
    withoutEffect: count(withoutEffect.map(({ kind }) => kind)),
    partitions,
    /** Seeds whose job several workers trained. */
    dataParallel: seeds.filter(({ parallel }) => parallel > 1).length,
    /** Attestations that were renewed under a job. */
    renewals: seeds.reduce((sum, seed) => sum + seed.renewals, 0),
    /** Words of nodes whose lease was over. */
    refusedLate: seeds.reduce((sum, seed) => sum + seed.refusedLate, 0),
    violated: seeds.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed),
    leaks: leaks.length,
    leftOut,
  };
}

function count(names: readonly string[]): Counts {
  return total(names.map((name) => ({ [name]: 1 })));
}

function total(all: readonly Counts[]): Counts {
  const sums: Record<string, number> = {};
  for (const [name, value] of all.flatMap(Object.entries<number>)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}
