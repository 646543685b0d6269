/**
 * Whether a run of a job that can be proved fails exactly where no proof exists: engine, oracle, trainer and prover on one
 * side, and on the other the verifier's word on the one witness that a segment can have, made without any guard.
 */
import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { taggedDigest } from '#attestation/base';
import {
  checkBounds,
  datasetRoot,
  GuardViolation,
  guardTable,
  initialWeights,
  merklePath,
  profileManifest,
  provability,
  segmentReference,
  superblockOfStep,
  stepReference,
  type Examples,
  type GuardSet,
  type Manifest,
  type Weights,
} from '#libs/step';
import { createEngine, createExactTrainer, KernelBackend } from '#libs/zk';
import { dataDigestOf } from '#libs/zk/verifier';
import { Engine } from '../../enclave/src/engine/engine.js';
import * as exact from '../../enclave/src/engine/exact-steps.js';
import { commitData, commitWeights } from '../../libs/zk/src/prover/commitments.js';
import { executeSegment } from '../../libs/zk/src/prover/execute.js';
import { countLookups } from '../../libs/zk/src/prover/multiplicities.js';
import { proveWitness, type SegmentInput } from '../../libs/zk/src/prover/prove.js';
import { derivePlanUnchecked, type Plan } from '../../libs/zk/src/relation/plan.js';
import { seedOf, testProfile } from '../../libs/zk/src/testing/segments.js';
import { scheduleOf } from '../../libs/zk/src/verifier/statement.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const engines: Engine[] = [];
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

interface Job {
  readonly manifest: Manifest;
  readonly examples: Examples;
  /** Weights before the segment that is judged. */
  readonly start: Weights;
}

/** Weights after a segment, or null where it fails. */
type Verdict = Weights | null;

function judged(run: () => Weights): Verdict {
  try {
    return run();
  } catch (error) {
    if (error instanceof GuardViolation) return null;
    throw error;
  }
}

function recordsOf({ manifest, examples }: Job, index: number): Examples {
  const { superblock, batch, dims } = manifest;
  const first = superblockOfStep(manifest, index * superblock, examples.count) * superblock * batch;
  const count = superblock * batch;
  return {
    count,
    features: examples.features.subarray(first * dims[0]!, (first + count) * dims[0]!),
    labels: examples.labels.subarray(first, first + count),
  };
}

async function byEngine(
  { manifest, examples, start }: Job,
  index: number,
  chunkSteps: number,
  guardSet: GuardSet = 'proved',
): Promise<Verdict> {
  const engine = await Engine.open(manifest, { guardSet });
  engines.push(engine);
  const fromStep = index * manifest.superblock;
  const stepCount = Math.min(manifest.superblock, manifest.steps - fromStep);
  try {
    return await engine.train({ dataset: engine.load(examples), weights: start, fromStep, stepCount, chunkSteps });
  } catch (error) {
    if (error instanceof GuardViolation) return null;
    throw error;
  }
}

function byTrainer(job: Job, index: number, guards = guardTable(job.manifest, 'proved')): Verdict {
  const { manifest, start } = job;
  const mark = backend.mark();
  const records = recordsOf(job, index);
  const { batch, superblock, dims } = manifest;
  const verdict = judged(() => {
    const trainer = createExactTrainer(backend, manifest, start, guards);
    for (let t = 0; t < superblock; t++) {
      const features = records.features.subarray(t * batch * dims[0]!, (t + 1) * batch * dims[0]!);
      const labels = records.labels.subarray(t * batch, (t + 1) * batch);
      trainer.train(index * superblock + t, { count: batch, features, labels });
    }
    return trainer.weights();
  });
  backend.release(mark);
  return verdict;
}

function planOf(manifest: Manifest): Plan {
  return derivePlanUnchecked(manifest, testProfile, 'separate');
}

function inputOf(job: Job, plan: Plan, index: number): SegmentInput {
  const { manifest, start } = job;
  const seed = seedOf('weights');
  const before = commitWeights(backend, plan, start, seed).commitment;
  const examples = recordsOf(job, index);
  const superblock = superblockOfStep(manifest, index * manifest.superblock, job.examples.count);
  const data = commitData(backend, plan, examples, seedOf('data')).commitment;
  const count = Math.floor(Math.floor(job.examples.count / manifest.batch) / manifest.superblock);
  const digests = Array.from({ length: count }, (_, k) =>
    k === superblock ? dataDigestOf(data, plan) : seedOf(`${k}`),
  );
  return {
    statement: {
      ...{ manifest, profile: 'test', variant: 'separate', index, recordCount: job.examples.count, data, before },
      outerDigest: (after) => taggedDigest('test outer statement', after),
      datasetRoot: datasetRoot(digests),
      dataPath: merklePath(digests, superblock),
    },
    ...{ before: { weights: start, seed }, examples, dataSeed: seedOf('data') },
    ...{ secret: seedOf('prover secret'), afterSeed: seedOf('after') },
  };
}

/** The verifier's word on what the segment computes, whatever it computes. */
function byRelation(job: Job, index: number): Verdict {
  const mark = backend.mark();
  const { manifest } = job;
  const plan = planOf(manifest);
  const input = inputOf(job, plan, index);
  const free = new Map(
    [...guardTable(manifest, 'proved')].map(([name, guard]) => [
      name,
      { ...guard, low: -(2n ** 80n), high: 2n ** 80n },
    ]),
  );
  const firstStep = index * manifest.superblock;
  const sizes = scheduleOf(manifest, firstStep);
  const segment = executeSegment(backend, plan.shape, job.start, input.examples, firstStep, sizes, free);
  for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  const { result, rejection } = proveWitness(backend, plan, input, segment);
  backend.release(mark);
  if (rejection === undefined) return result.after.weights;
  expect(rejection.code).toBe('STEP_FINAL_CHECK');
  return null;
}

/** All five on one segment. @returns their common word */
async function agree(job: Job, index: number, chunkSteps = 100): Promise<Verdict> {
  const oracle = judged(() => segmentReference(job.manifest, job.start, recordsOf(job, index), index));
  expect(await byEngine(job, index, chunkSteps)).toEqual(oracle);
  expect(byTrainer(job, index)).toEqual(oracle);
  const plan = planOf(job.manifest);
  const mark = backend.mark();
  const firstStep = index * job.manifest.superblock;
  const executed = judged(() => {
    const sizes = scheduleOf(job.manifest, firstStep);
    executeSegment(backend, plan.shape, job.start, recordsOf(job, index), firstStep, sizes);
    return [];
  });
  backend.release(mark);
  expect(executed === null).toBe(oracle === null);
  expect(byRelation(job, index)).toEqual(oracle);
  return oracle;
}

function examplesOf(manifest: Manifest, salt: number, superblocks = 2): Examples {
  const count = superblocks * manifest.superblock * manifest.batch;
  const bytes = (name: string, length: number): Uint8Array =>
    Uint8Array.from({ length }, (_, i) => seedOf(`${name} ${salt} ${i >> 5}`)[i & 31]!);
  const classes = manifest.dims.at(-1)!;
  return {
    count,
    features: bytes('features', count * manifest.dims[0]!),
    labels: bytes('labels', count).map((label) => label % classes),
  };
}

describe('Z-H1 a run fails exactly where its segment has no witness', () => {
  const found = { dims: [3, 4, 2], batch: 2, e: 5, seed: `0x${'22'.repeat(32)}` };

  it('Z-H1 where a masked error leaves the range that only unmasked ones must keep', async () => {
    const seen = { attestedOnly: 0, both: 0 };
    for (let salt = 1; salt <= 12; salt++) {
      const seed = `0x${salt.toString(16).padStart(64, '0')}`;
      const manifest = profileManifest('fx1', { ...found, seed, gbits: 11, steps: 1 });
      const job = { manifest, examples: examplesOf(manifest, salt), start: initialWeights(manifest) };
      const oracle = await agree(job, 0);
      const attested = await byEngine(job, 0, 1, 'attested');
      if (oracle !== null && attested === null) seen.attestedOnly++;
      if (oracle === null) seen.both++;
    }
    expect(seen.attestedOnly).toBeGreaterThan(0);
    expect(seen.both).toBeGreaterThan(0);
  });

  const shape = fc.record({
    profile: fc.constantFrom('fx1', 'fx1s', 'fx1w'),
    loss: fc.constantFrom('softmax-ce', 'mse'),
    hidden: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 2 }),
    inputs: fc.integer({ min: 1, max: 5 }),
    classes: fc.integer({ min: 2, max: 4 }),
    batch: fc.integer({ min: 1, max: 4 }),
    e: fc.integer({ min: 5, max: 7 }),
    gbits: fc.constantFrom(9, 10, 11, 12, 16),
    wint: fc.integer({ min: 1, max: 3 }),
    superblock: fc.constantFrom(1, 2, 4),
    steps: fc.integer({ min: 1, max: 7 }),
    size: fc.constantFrom(1, 4, 40, 255),
    salt: fc.integer({ min: 0, max: 1_000_000 }),
  });

  it('Z-H1 on random jobs, from their start to their end or to where they fail', async () => {
    const seen = { failed: 0, passed: 0, nullSteps: 0 };
    await fc.assert(
      fc.asyncProperty(shape, async ({ profile, hidden, inputs, classes, size, salt, ...rest }) => {
        const seed = `0x${salt.toString(16).padStart(64, '0')}`;
        const dims = [inputs, ...hidden, classes];
        const manifest = profileManifest(profile, { ...rest, dims, seed, m: [[0, size]] });
        if (!provability(manifest).provable) return;
        const examples = examplesOf(manifest, salt);
        let start: Weights = initialWeights(manifest);
        if (weightsLeave(manifest, start)) return;
        checkBounds(manifest, 'proved');
        const segments = Math.ceil(manifest.steps / manifest.superblock);
        for (let index = 0; index < segments; index++) {
          const verdict = await agree({ manifest, examples, start }, index, 1 + (salt % 4));
          if (verdict === null) {
            seen.failed++;
            return;
          }
          seen.passed++;
          if (index === segments - 1 && manifest.steps % manifest.superblock !== 0) seen.nullSteps++;
          start = verdict;
        }
      }),
      { numRuns: 60, seed: 20261122 },
    );
    expect(seen.failed).toBeGreaterThan(5);
    expect(seen.passed).toBeGreaterThan(20);
    expect(seen.nullSteps).toBeGreaterThan(3);
  }, 240_000);

  /** Of one step and a null step; b1 of unit 0 starts at `edge`, and its input keeps the unit's mask at 1. */
  function atEdge(edge: bigint, salt: number): Job {
    const manifest = profileManifest('fx1', { ...found, steps: 1, superblock: 2, m: [[0, 9]] });
    const start = initialWeights(manifest).map((tensor) => ({
      ...tensor,
      values: tensor.values.map((value, i) => {
        if (tensor.name === 'b1') return i === 0 ? edge : value;
        return tensor.name === 'W1' && i % 4 === 0 ? (edge < 0n ? 2n ** 24n - 1n : 0n) : value;
      }),
    }));
    const examples = examplesOf(manifest, salt, 1);
    return { manifest, examples: { ...examples, features: examples.features.map((byte) => byte | 128) }, start };
  }

  const biasOf = (weights: Weights): bigint => weights.find(({ name }) => name === 'b1')!.values[0]!;

  const { low, high } = guardTable(atEdge(0n, 0).manifest, 'proved').get('b1')!;

  /** A job whose bias ends at `end`, moved there by its step. */
  function endingAt(end: bigint): Job {
    for (let salt = 0; salt < 100; salt++) {
      let job = atEdge(end < low ? low : end > high ? high : end, salt);
      for (let tries = 0; tries < 5; tries++) {
        const { manifest, start, examples } = job;
        const first = recordsOf(job, 0);
        const block = { count: 2, features: first.features.subarray(0, 6), labels: first.labels.subarray(0, 2) };
        const after = biasOf(stepReference(manifest, start, block, 0, 'proved').weights);
        const moved = after - biasOf(start);
        if (after === end && moved !== 0n) return job;
        if (moved === 0n || moved > 0n !== end > 0n) break;
        job = { ...atEdge(end - moved, salt), examples };
      }
    }
    throw new Error('no job ends there');
  }

  it.each([
    ['the least value of its range', low, true],
    ['one below', low - 1n, false],
    ['the largest value of its range', high, true],
    ['one above', high + 1n, false],
  ])('Z-H1 a weight that ends at %s', async (_name, end, isInRange) => {
    const verdict = await agree(endingAt(end), 0);
    expect(verdict !== null).toBe(isInRange);
    if (verdict !== null) expect(biasOf(verdict)).toBe(end);
  });

  /** The first step pushes the last biases far out, the second brings them back to 0. */
  function straying(dims: number[], batch: number): Job {
    const manifest = profileManifest('fx1', {
      dims,
      batch,
      e: 5,
      m: [[0, 255]],
      steps: 2,
      superblock: 2,
      seed: found.seed,
    });
    const count = 2 * batch;
    const labels = Uint8Array.from({ length: count }, (_, i) => (i >= batch && i % 2 === 1 ? 1 : 0));
    return { manifest, examples: { count, features: new Uint8Array(count), labels }, start: initialWeights(manifest) };
  }

  it('Z-H1 where weights leave their range inside a segment and are back at its border', async () => {
    const job = straying([1, 4, 2], 4);
    expect(await byEngine(job, 0, 100, 'attested')).toBeNull();
    expect(await agree(job, 0)).toEqual(job.start);
    expect(await agree(job, 0, 1)).toEqual(job.start);
  });

  it.each([1, 100])('Z-H1 where they stray beyond what float64 carries, %i steps in a call', async (chunkSteps) => {
    const job = straying([1, 3000, 2], 128);
    const exactly = vi.spyOn(exact, 'stepsExactly');
    expect(await byEngine(job, 0, chunkSteps)).toEqual(job.start);
    expect(exactly).toHaveBeenCalledOnce();
    exactly.mockRestore();
    expect(byTrainer(job, 0)).toEqual(job.start);
  });

  it('Z-H1 in limbs as in doubles: the same weights, and a proof', () => {
    const manifest = profileManifest('fx1', {
      dims: [5, 4, 3, 3],
      batch: 3,
      e: 5,
      steps: 4,
      superblock: 4,
      seed: found.seed,
    });
    const job: Job = { manifest, examples: examplesOf(manifest, 5), start: initialWeights(manifest) };
    const uncarried = new Map(
      [...guardTable(manifest, 'proved')].map(([name, guard]) => [name, { ...guard, carriedMax: 0 }]),
    );
    const plan = planOf(manifest);
    const input = inputOf(job, plan, 0);
    const sizes = scheduleOf(manifest, 0);
    const [plain, limbs] = [undefined, uncarried].map((guards) =>
      executeSegment(backend, plan.shape, job.start, input.examples, 0, sizes, guards),
    );
    for (const group of ['witness', 'after', 'data'] as const) expect(limbs![group]).toEqual(plain![group]);
    expect([...limbs!.virtual.keys()]).toContain('H1.high');
    for (const [name, counts] of countLookups(backend, plan.shape, limbs!)) limbs!.witness.set(name, counts);
    expect(proveWitness(backend, plan, input, limbs!).rejection).toBeUndefined();
    expect(byTrainer(job, 0, uncarried)).toEqual(byTrainer(job, 0));
  });
});

function weightsLeave(manifest: Manifest, weights: Weights): boolean {
  const guards = guardTable(manifest, 'proved');
  return weights.some(({ name, values }) => {
    const { low, high } = guards.get(name)!;
    return values.some((value) => value < low || value > high);
  });
}
