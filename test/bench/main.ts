/** `npm run bench`: the benches beside this file. */
import { readdirSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { readCommandLine } from '#test/command-line';
import type { BenchResult } from './result.js';

interface Bench {
  readonly name: string;
  readonly results: readonly BenchResult[];
}

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

async function runBench({ name, file }: (typeof known)[number]): Promise<Bench> {
  process.stderr.write(`bench ${name} …\n`);
  const { run } = (await import(new URL(file, import.meta.url).href)) as {
    run: (options: { readonly peers: boolean }) => Promise<BenchResult[]>;
  };
  return { name, results: await run({ peers: values.peers }) };
}

function tableOf(benches: readonly Bench[]): string {
  const rows = benches.flatMap(({ name, results }) =>
    results.length === 0
      ? [[name, 'not run: its inputs are not at hand', '', '', '', '', '']]
      : results.map((r) => [name, r.name, r.unit, ...[r.n, r.min, r.median, r.max].map(figure)]),
  );
  const head = ['bench', 'figure', 'unit', 'n', 'min', 'median', 'max'];
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  ');
  return [head, ...rows].map(line).join('\n');
}

function figure(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? String(Math.round(value)) : value.toPrecision(4);
}

const names = known.map(({ name }) => name).join(', ');
const usage = `npm run bench -- [name…] [--json] [--peers]
  A table, or one JSON document {machine, benches: [{name, results: [{name, unit, n, min, median, max}]}]}.
  A bench whose inputs are not at hand gives no results and says so.
  There are ${names}.`;
const { values, positionals, refuse } = readCommandLine(usage, {
  options: { json: { type: 'boolean', default: false }, peers: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !known.some((bench) => bench.name === name));
if (unknown.length > 0) refuse(`no bench ${unknown.join(', ')}`);

const benches: Bench[] = [];
for (const bench of known) {
  if (positionals.length === 0 || positionals.includes(bench.name)) benches.push(await runBench(bench));
}
process.stdout.write(
  values.json
    ? `${JSON.stringify({ machine, benches })}\n`
    : `${tableOf(benches)}\n\n${machine.cpu}, ${machine.threads} threads, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}\n`,
);
