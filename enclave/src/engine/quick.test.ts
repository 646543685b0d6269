import { describe, expect, it, vi } from 'vitest';
import { float64Tensors, InferenceSession, Tensor } from '#libs/onnx';
import {
  blockOfStep,
  buildQuickGraph,
  guardTable,
  initialWeights,
  profileManifest,
  stepReference,
  wordStream,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import { Engine } from './engine.js';
import { toWeights } from './tensors.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';

function examplesOf(m: Manifest, count: number): Examples {
  const word = wordStream('test/quick', m.seed);
  const n0 = m.dims[0]!;
  return {
    count,
    features: Uint8Array.from({ length: count * n0 }, (_, i) => Number(word(i) & 255n)),
    labels: Uint8Array.from({ length: count }, (_, i) => Number(word(count * n0 + i) % BigInt(m.dims.at(-1)!))),
  };
}

function reference(m: Manifest, all: Examples, steps: number): Weights {
  const n0 = m.dims[0]!;
  let weights = initialWeights(m);
  for (let step = 0; step < steps; step++) {
    const block = blockOfStep(m, step, all.count);
    const features = all.features.slice(block * m.batch * n0, (block + 1) * m.batch * n0);
    const labels = all.labels.slice(block * m.batch, (block + 1) * m.batch);
    weights = stepReference(m, weights, { count: m.batch, features, labels }, step).weights;
  }
  return weights;
}

/** Runs a job and counts the calls of each graph, told apart by their outputs. */
async function train(m: Manifest, examples: Examples, steps: number, hasQuick = true) {
  const { prototype } = InferenceSession as unknown as { prototype: InferenceSession };
  const run = vi.spyOn(prototype, 'run');
  const engine = await Engine.open(m, { hasQuick });
  try {
    const dataset = engine.load(examples);
    const weights = await engine.train({ dataset, weights: initialWeights(m), fromStep: 0, stepCount: steps });
    const results = await Promise.all(run.mock.results.map(({ value }) => value as Promise<object>));
    const quick = results.filter((result) => 'low.Y1' in result).length;
    return { weights, quick, telling: results.length - quick };
  } finally {
    run.mockRestore();
    await engine.close();
  }
}

describe('the quick graph', () => {
  const m = profileManifest('fx1', { dims: [9, 7, 3], batch: 6, e: 6, steps: 40, seed });
  const examples = examplesOf(m, 60);

  it('reaches the weights of the reference in one call, and the graph that tells is not asked', async () => {
    const { weights, quick, telling } = await train(m, examples, 40);
    expect(weights).toEqual(reference(m, examples, 40));
    expect([quick, telling]).toEqual([1, 0]);
  });

  it('is left alone where the caller says so', async () => {
    const { weights, quick, telling } = await train(m, examples, 40, false);
    expect(weights).toEqual(reference(m, examples, 40));
    expect([quick, telling]).toEqual([0, 1]);
  });

  it('gives way where activations reach their upper end, at first for ever shorter calls, then for a while', async () => {
    const clipped = { ...m, abits: 4, steps: 400 };
    const { weights, quick, telling } = await train(clipped, examples, 400);
    expect(weights).toEqual(reference(clipped, examples, 400));
    expect([quick, telling]).toEqual([4, 6]);
  });

  it('carries products in float32 up to the last sum that the verdict lets pass', async () => {
    const wide = profileManifest('fx1', { dims: [16, 2], batch: 64, e: 8, m: [[0, 1]], steps: 1, seed });
    const session = await InferenceSession.create(buildQuickGraph(wide, 'attested'), { intraOpNumThreads: 1 });
    // Every label is 0, and class 1 is far ahead: each row's error is −2^10 and 2^10, each input 255: 64·2^10·255 < 2^24.
    const far = 2 ** 20 - 1;
    const weights: Weights = [
      { name: 'W1', dims: [16, 2], values: new BigInt64Array(32) },
      { name: 'b1', dims: [2], values: BigInt64Array.of(BigInt(-far), BigInt(far)) },
    ];
    const features = new Uint8Array(64 * 16).fill(255);
    features[0] = 254;
    const result = await session.run({
      ...float64Tensors(weights),
      features: new Tensor('uint8', features, [1, 64, 16]),
      labels: new Tensor('int32', new Int32Array(64), [1, 64]),
      blocks: new Tensor('int32', Int32Array.of(0), [1]),
      m: new Tensor('float64', Float64Array.of(1), [1]),
    });
    await session.release();
    const sum = 64 * 2 ** 10;
    expect(result['sum.G1']!.data).toEqual(Float64Array.of(sum, sum));
    expect(255 * sum).toBeLessThan(2 ** 24);
    expect(255 * (sum + 258)).toBeGreaterThan(2 ** 24);
    const next = toWeights(wide, { W1: result['W1.next'] as Tensor, b1: result['b1.next'] as Tensor });
    const all = { count: 64, features, labels: new Uint8Array(64) };
    expect(next).toEqual(stepReference(wide, weights, all, 0).weights);
    expect(next[0]!.values[2]).toBe(BigInt(255 * sum));
    expect(next[0]!.values[0]).toBe(BigInt(255 * sum - 2 ** 10));
    expect(Number(guardTable(wide, 'attested').get('W1')!.high)).toBeGreaterThan(255 * sum);
  });
});
