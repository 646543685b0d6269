/**
 * The mutation run of settlement §15: every check, comparison and state write of the contracts that hold or decide over
 * money is broken, one at a time, and the fast tests must notice. Not part of the gate.
 *
 *   node --conditions=source --import @oxc-node/core/register contracts/script/mutate.ts REPORT.json [--minutes N]
 *
 * A run goes on from the report of an earlier one over the same sources and tests.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutantsOf, type Mutant, type PlacedMutant, type SyntaxNode } from './mutants.js';
import { copyDigest, judge, prepareCopy, root, rounds } from './mutation-copy.js';

const files = [
  ...['Ledger', 'JobStore', 'Opening', 'Running', 'Duties', 'Settlement', 'TermsRules', 'BlockRandao', 'TypedData'],
  ...['EnclaveRegistry', 'Quorum', 'VerifierRouter', 'verifiers/TeeVerifier', 'libraries/BorderTree'],
].map((name) => `contracts/src/${name}.sol`);

/** `open`: it survived the first round, and the second was not run yet. */
interface Result extends Mutant {
  readonly number: number;
  outcome: 'killed' | 'open' | 'survived';
}

interface Report {
  /** Of sources and tests. */
  readonly digest: string;
  readonly found: number;
  readonly results: Result[];
}

/** The mutants of all files, by their typed syntax trees. */
function findMutants(): PlacedMutant[] {
  const solc = createRequire(import.meta.url)('solc') as { compile(input: string, callbacks: object): string };
  const text = (path: string): string => readFileSync(join(root, path), 'utf8');
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(files.map((file) => [file, { content: text(file) }])),
    settings: {
      remappings: ['@openzeppelin/=node_modules/@openzeppelin/'],
      outputSelection: { '*': { '': ['ast'] } },
      evmVersion: 'osaka',
    },
  };
  const found = solc.compile(JSON.stringify(input), { import: (path: string) => ({ contents: text(path) }) });
  const { sources } = JSON.parse(found) as { sources: Record<string, { ast: SyntaxNode }> };
  return files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file)), sources[file]!.ast));
}

/** Spread over the sources, so that a run cut short is a sample of all of them. */
const scattered = (i: number): number => Math.imul(i + 1, 0x9e3779b1) >>> 0;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string' } },
});
const file = positionals[0] ?? 'mutation-report.json';
const digest = copyDigest();
const work = join(tmpdir(), `veritrain-mutation-${digest.slice(0, 12)}`);
const mutants = findMutants();
process.stderr.write(`${mutants.length} mutants; compiling them in ${work}\n`);
prepareCopy(work, mutants);
for (const round of rounds) {
  await judge(work, round, [0], (_, passed) => {
    if (!passed) throw new Error('the tests fail without any mutant');
  });
}

let report: Report = { digest, found: mutants.length, results: [] };
if (existsSync(file)) {
  const earlier = JSON.parse(readFileSync(file, 'utf8')) as Report;
  if (earlier.digest === digest) report = earlier;
}
const until = Date.now() + 60_000 * Number(values.minutes ?? 120);
const save = (): void => writeFileSync(file, `${JSON.stringify(report, undefined, 1)}\n`);

/** A few at a time, so that a run that is cut short has a report. */
async function tryAll(mutants_: readonly number[], round: number, tell: (n: number, passed: boolean) => void) {
  for (let i = 0; i < mutants_.length && Date.now() < until; i += 50) {
    await judge(work, rounds[round]!, mutants_.slice(i, i + 50), tell);
    save();
  }
}

const done = new Set(report.results.map(({ number }) => number));
const fresh = [...mutants.keys()].map((i) => i + 1).filter((number) => !done.has(number));
await tryAll(
  fresh.sort((a, b) => scattered(a) - scattered(b)),
  0,
  (number, passed) => {
    const { start: _start, length: _length, ...mutant } = mutants[number - 1]!;
    report.results.push({ number, ...mutant, outcome: passed ? 'open' : 'killed' });
  },
);
const open = new Map(report.results.filter(({ outcome }) => outcome === 'open').map((one) => [one.number, one]));
await tryAll([...open.keys()], 1, (number, passed) => {
  open.get(number)!.outcome = passed ? 'survived' : 'killed';
});
const count = (wanted: Result['outcome']): number => report.results.filter(({ outcome }) => outcome === wanted).length;
process.stdout.write(
  `${report.results.length} of ${mutants.length} tried, ${count('survived')} survived, ${count('open')} still open\n`,
);
