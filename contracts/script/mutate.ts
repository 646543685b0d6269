/**
 * The mutation run of contracts/SPEC.md §15: every check, comparison and state write of the contracts that hold or
 * decide over money is broken, one at a time, and the fast tests must notice. Not part of the gate.
 *
 *   node --conditions=source --import @oxc-node/core/register contracts/script/mutate.ts REPORT.json [--only TEXT] [--part I/N] [--minutes N] [--sample N]
 *
 * A run goes on from the report of an earlier one over the same sources and tests. `--sample` takes the first N places of
 * an order that is spread over all sources and always the same, `--only` the sources whose path has TEXT,
 * `--part 1/4` every fourth place: a function with many switches holds more on the stack than the compiler can reach. Exit code 2: not all were tried to the end.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutantsOf, type PlacedMutant, type SyntaxNode } from './mutants.js';
import { root } from './mutation-copy.js';
import { summary, tryMutants } from './mutation-report.js';

const files = [
  ...['Ledger', 'JobStore', 'Opening', 'Running', 'Disputes', 'Handover', 'Settlement', 'Duties', 'Delivery', 'Keys'],
  ...['Roles', 'TermsRules', 'BlockRandao', 'VerifierRouter', 'libraries/BorderTree', 'libraries/Signatures'],
  ...['snp/SnpRegistry', 'snp/SnpVerifier', 'snp/SnpCertificates', 'snp/Der', 'snp/P384'],
].map((name) => `contracts/src/${name}.sol`);

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
  options: {
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    minutes: { type: 'string', default: '120' },
    sample: { type: 'string' },
  },
});
const file = positionals[0] ?? 'mutation-report.json';
const [part, parts] = values.part.split('/').map(Number) as [number, number];
const mutants = findMutants()
  .filter((mutant) => mutant.file.includes(values.only))
  .filter((_mutant, i) => i % parts === part - 1);
const order = [...mutants.keys()].map((i) => i + 1).sort((a, b) => scattered(a) - scattered(b));
const sample = order.slice(0, Number(values.sample ?? order.length));
const until = Date.now() + 60_000 * Number(values.minutes);
const results = await tryMutants({ file, mutants, order: sample, until });
for (const { file: source, line, kind, from, outcome } of results) {
  if (outcome === 'survived') process.stdout.write(`survived: ${source}:${line} ${kind} ${JSON.stringify(from)}\n`);
}
process.stdout.write(`${summary(results, sample.length)}\n`);
if (results.some(({ outcome }) => outcome === 'open') || results.length < sample.length) process.exitCode = 2;
