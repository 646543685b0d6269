/** `npm run bench`: the benches beside this file. */
import { readdirSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { readCommandLine } from '#test/command-line';
import type { BenchOptions, BenchOutcome, BenchResult } from './result.js';

interface Bench {
  readonly name: string;
  readonly results: readonly BenchResult[];
}

type Done = Bench & BenchOutcome;

const stepsMax = 64_000;

const suffix = /\.bench\.(ts|js)$/;
const known = readdirSync(new URL('.', import.meta.url))
  .filter((file) => suffix.test(file))
  .map((file) => ({ name: file.replace(suffix, ''), file }));

const machine = {
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  threads: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  platform: `${process.platform} ${process.arch}`,
  node: process.versions.node,
};

interface BenchModule {
  /** Of a bench of which single rows can be asked for. */
  readonly rows?: readonly string[];
  run(options: BenchOptions): Promise<readonly BenchResult[] | BenchOutcome>;
  /** A form of seconds, for continuous integration. */
  short?(options: BenchOptions): Promise<readonly BenchResult[] | BenchOutcome>;
}

/** @returns undefined where a short form is asked for and there is none */
async function runBench({ name, file }: (typeof known)[number], rows: readonly string[]): Promise<Done | undefined> {
  const bench = (await import(new URL(file, import.meta.url).href)) as BenchModule;
  const unknown = rows.filter((row) => bench.rows?.includes(row) !== true);
  if (unknown.length > 0) {
    refuse(`no bench ${unknown.join(', ')}, and ${name} has ${bench.rows?.join(', ') ?? 'no rows'}`);
  }
  const form = values.short ? bench.short : bench.run;
  if (form === undefined) return undefined;
  process.stderr.write(`bench ${name} …\n`);
  const outcome = await form({ peers: values.peers, rows, steps });
  return 'members' in outcome ? { name, ...outcome } : { name, results: outcome, members: {} };
}

function tableOf(benches: readonly Bench[]): string {
  const rows = benches.flatMap(({ name, results }) =>
    results.length === 0
      ? [[name, 'not run: its inputs are not at hand', '', '', '', '', '', '']]
      : results.map((r) => [name, r.name, r.unit, ...[r.n, r.min, r.median, r.max].map(figure), barOf(r)]),
  );
  const head = ['bench', 'figure', 'unit', 'n', 'min', 'median', 'max', 'bar'];
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  ');
  return [head, ...rows].map(line).join('\n');
}

function barOf({ atLeast, atMost, holds, skipped }: BenchResult): string {
  if (skipped !== undefined) return 'skipped';
  if (holds === undefined) return '';
  return `${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`} ${holds ? 'holds' : 'MISSED'}`;
}

function figure(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? String(Math.round(value)) : value.toPrecision(4);
}

const names = known.map(({ name }) => name).join(', ');
const usage = `npm run bench -- [name…] [row…] [--short] [--json] [--peers] [--steps N]
  A table, or one JSON document {machine, benches: [{name, results: [{name, unit, n, min, median, max}]}]}; a figure
  with a bar has atLeast or atMost, and holds. Exit status 1 where a bar is missed.
  A bench or row whose inputs are not at hand gives no figures and says so.
  --short  a form of seconds, of benches that have one
  row      of accuracy: mnist-cnn, penguins … (test/bench/accuracy/README.md)
  --steps  of the job that whole-job proves and settles; its figures are the document's member wholeJob
  There are ${names}.`;
const { values, positionals, refuse } = readCommandLine(usage, {
  options: {
    json: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    steps: { type: 'string' },
  },
  allowPositionals: true,
});
const asked = known.filter(({ name }) => positionals.includes(name));
const rows = positionals.filter((name) => !known.some((bench) => bench.name === name));
if (rows.length > 0 && asked.length !== 1) refuse(`no bench ${rows.join(', ')}`);

const steps = values.steps === undefined ? undefined : Number(values.steps);
if (steps !== undefined && !(Number.isInteger(steps) && steps >= 1 && steps <= stepsMax)) {
  refuse(`--steps is a whole number from 1 to ${stepsMax}`);
}

const outcomes: Done[] = [];
for (const bench of positionals.length === 0 ? known : asked) {
  const done = await runBench(bench, rows);
  if (done !== undefined) outcomes.push(done);
}
const benches: Bench[] = outcomes.map(({ name, results }) => ({ name, results }));
const members = Object.assign({}, ...outcomes.map((outcome) => outcome.members)) as Record<string, unknown>;
process.stdout.write(
  values.json
    ? `${JSON.stringify({ machine, benches, ...members })}\n`
    : `${tableOf(benches)}\n\n${machine.cpu}, ${machine.threads} threads, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}\n`,
);
if (benches.some(({ results }) => results.some(({ holds }) => holds === false))) process.exitCode = 1;
