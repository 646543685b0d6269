/** Runs an example: its data, then its commands one after the other, each as a user would type it. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ConfigurationError, Rejection } from '#attestation/base';
import { loadProfile } from '#libs/client/api';
import { makeFolder, writeWhole } from '#libs/client/files';
import { taken } from '../output.js';
import { startEmbedded, type EmbeddedSystem } from '../system/embedded.js';
import type { Example, ExampleData, Expectation } from './description.js';
import { makers } from './made/index.js';

export interface ExampleReport {
  readonly example: string;
  readonly short: boolean;
  /** Where everything is that it made. */
  readonly out: string;
  readonly commands: readonly { readonly command: string; readonly seconds: number; readonly result: unknown }[];
  /** What the last command that measured has measured, by the names of metrics. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Bounds that the metrics hold, in words. */
  readonly held: readonly string[];
}

interface Request {
  readonly isShort: boolean;
  /** Emptied first; what is not of an example is left alone. */
  readonly out: string;
  /** Runs one command of this program; its results are taken, its progress is not. */
  execute(args: readonly string[]): Promise<unknown>;
  /** A line for whoever watches. */
  say(line: string): void;
}

/** Of all examples, so that a run gives the same model each time. */
const seed = `0x${'5a'.repeat(32)}`;
const markName = '.example';

/** @throws ConfigurationError EXAMPLE_FOLDER; Rejection EXAMPLE_METRIC where the result is not as good as the example promises, and what its commands throw */
export async function runExample(example: Example, request: Request): Promise<ExampleReport> {
  const { isShort, out, say } = request;
  const { short } = example;
  say(`${example.name}: ${example.shows}\nits page: ${join(relative('.', example.folder), 'README.md')}`);
  emptyFolder(out, example.name);
  const data = dataFolder((isShort ? short.data : undefined) ?? example.data, example, request);
  const system = example.system && (await startSystem(join(out, 'system'), example.system.nodes, say));
  try {
    const places = {
      seed,
      ...example.settings,
      ...(isShort && short.settings),
      ...placesOf(example, data, out, system),
    };
    const { commands, metrics } = await runAll(example.commands, places, request);
    const held = (isShort ? short.expect : example.expect).map((one) => demand(one, metrics, example.name));
    return { example: example.name, short: isShort, out, commands, metrics, held };
  } finally {
    await system?.stop();
  }
}

function emptyFolder(folder: string, name: string): void {
  const mark = join(folder, markName);
  const isOther = existsSync(folder) && !existsSync(mark);
  if (isOther && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0)) {
    const [expected, got] = ['an empty folder, or one of an earlier run', folder];
    throw new ConfigurationError('EXAMPLE_FOLDER', { expected, got, rule: '--out', action: 'name another folder' });
  }
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder);
  writeWhole(mark, `${name}\n`);
}

function dataFolder(data: ExampleData, example: Example, { out, say }: Request): string {
  if ('files' in data) return relative('.', example.folder);
  if ('package' in data) {
    const manifest = createRequire(import.meta.url).resolve(`${data.package}/package.json`);
    return relative('.', join(dirname(manifest), data.folder));
  }
  const folder = join(out, 'data');
  say(`making the data: ${data.made}, ${data.rows} rows`);
  makers[data.made](folder, data.rows);
  return folder;
}

async function startSystem(folder: string, nodes: number, say: (line: string) => void): Promise<EmbeddedSystem> {
  say('starting what `npm run serve` starts; the hardware is SIMULATED');
  return startEmbedded({ folder, vendorFile: join(folder, '..', 'simulated-vendor.json'), nodes, onPhase: say });
}

function placesOf({ folder }: Example, data: string, out: string, system: EmbeddedSystem | undefined) {
  const places = { data, out, here: relative('.', folder) };
  if (system === undefined) return places;
  const profile = system.profileFile;
  return { ...places, profile, keys: loadProfile(profile).broker.keysFolder };
}

async function runAll(lines: readonly string[], given: Readonly<Record<string, string | number>>, request: Request) {
  const places = new Map(Object.entries(given));
  const commands: ExampleReport['commands'][number][] = [];
  let metrics: Readonly<Record<string, number>> = {};
  for (const line of lines) {
    // Cut before anything is put in: what is put in stays one argument.
    const args = line.split(' ').map((word) => word.replace(/\{(\w+)\}/g, (_, name: string) => filled(places, name)));
    const command = `veritrain ${args.map(quoted).join(' ')}`;
    request.say(`\n$ npx ${command}`);
    const began = performance.now();
    const [printed] = await taken(() => request.execute(args));
    const seconds = Math.round(performance.now() - began) / 1000;
    if (printed !== undefined) request.say(printed.text);
    const result = printed?.result ?? null;
    commands.push({ command, seconds, result });
    metrics = metricsOf(result) ?? metrics;
    const job = (result as { readonly jobId?: string } | null)?.jobId;
    if (job !== undefined) places.set('job', job);
  }
  return { commands, metrics };
}

function filled(places: ReadonlyMap<string, string | number>, name: string): string {
  const value = places.get(name);
  if (value !== undefined) return String(value);
  const expected = `one of ${[...places.keys()].join(', ')}`;
  throw new Rejection('EXAMPLE_PLACE', { expected, got: name, rule: 'example.json, commands' });
}

function quoted(arg: string): string {
  return /^[\w./:=%,+@-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`;
}

/** Of `train`, which measures where rows were kept apart, and of `evaluate`. */
function metricsOf(result: unknown): Readonly<Record<string, number>> | undefined {
  const { metrics } = (result ?? {}) as { readonly metrics?: unknown };
  const list = Array.isArray(metrics) ? metrics : (metrics as { readonly metrics?: unknown } | null)?.metrics;
  if (!Array.isArray(list)) return undefined;
  return Object.fromEntries((list as { name: string; value: number }[]).map(({ name, value }) => [name, value]));
}

/** @returns what is demanded, in words @throws Rejection EXAMPLE_METRIC */
function demand(
  { metric, atLeast = -Infinity, atMost = Infinity }: Expectation,
  metrics: Readonly<Record<string, number>>,
  name: string,
): string {
  const value = metrics[metric];
  const expected = `${metric} of ${atLeast === -Infinity ? `at most ${atMost}` : `at least ${atLeast}`}`;
  if (value !== undefined && value >= atLeast && value <= atMost) return expected;
  throw new Rejection('EXAMPLE_METRIC', {
    expected,
    got: value === undefined ? 'none' : String(value),
    rule: `the page of example ${name}`,
    action: 'read what the commands printed',
  });
}
