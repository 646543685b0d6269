import { beforeAll, describe, expect, it, vi } from 'vitest';
import { carriesBytes, InferenceSession } from '#libs/onnx';
import {
  drawnParameters,
  GuardViolation,
  netStepReference,
  startState,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { smallNet } from '#test/net-agreement';
import type { EngineOptions } from './engine.js';
import { parseEngineRequest } from './engine-run.js';
import { NetEngine } from './net-engine.js';

// Asked once in a process, by a call of its own.
beforeAll(carriesBytes);

/** Trains, and tells of each call of the runtime by its outputs what graph it was. */
async function train(
  m: NetManifest,
  examples: NetExamples,
  weights: Weights,
  stepCount: number,
  options: EngineOptions = {},
) {
  const { prototype } = InferenceSession as unknown as { prototype: InferenceSession };
  const run = vi.spyOn(prototype, 'run');
  const engine = await NetEngine.open(m, [], options);
  try {
    const request = { dataset: engine.load(examples), weights, fromStep: 0, stepCount };
    const outcome = await engine.train(request).catch((error: unknown) => error as Error);
    const results = await Promise.all(run.mock.results.map(({ value }) => value as Promise<object>));
    const calls = results.map((result) => ({ isQuick: 'check.0' in result, isWatched: 'max.n0.W.0' in result }));
    return { outcome, calls };
  } finally {
    run.mockRestore();
    await engine.close();
  }
}

const lr = { frac: 24, points: [[0, 1 << 14]] };
const adamw = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10] };
const m = smallNet([{ op: 'dense', out: 3 }], { optimizer: { ...adamw, decay: 655, lr } });
const guard = 2 ** 31 - 1;
/** What one step of this rate adds to a magnitude at most: λ·2^(u+3)·2^(w−u−ℓ). */
const move = (1 << 14) * 2 ** 15 * 2 ** (28 - 12 - 24);

const rows: NetExamples = { count: 2, features: Int16Array.of(9, 0, 0, 9, 0, 0), labels: Int32Array.of(1, 0) };

/** The start with one weight of this size. */
function startAt(value: number): Weights {
  const state = startState(m, drawnParameters(m));
  state[0]!.values[1] = BigInt(value);
  return state;
}

describe('parameters go unwatched', () => {
  it.each([
    ['far from the guard', 0, 4, true],
    ['as near as the moves just reach', guard - 4 * move, 4, true],
    ['one nearer', guard - 4 * move + 1, 4, false],
    ['the same below 0', -(guard - 4 * move + 1), 4, false],
    ['one nearer, for fewer steps', guard - 4 * move + 1, 3, true],
  ])('%s: a weight of %d and %d steps: %s', async (_, value, count, isSure) => {
    const { calls } = await train(m, rows, startAt(value), count);
    expect(calls).toEqual([{ isQuick: false, isWatched: !isSure }]);
  });

  it('and a weight that leaves its guard is named, with the step', async () => {
    const plain = smallNet([{ op: 'dense', out: 3 }], { optimizer: { ...adamw, lr } });
    // Together the rows ask for more of class 1, so that its weight rises: past one guard, and away from the other.
    const outcomes = [await train(plain, rows, startAt(guard), 4), await train(plain, rows, startAt(-guard), 4)];
    const failed = outcomes.flatMap(({ outcome }) => (outcome instanceof GuardViolation ? [outcome] : []));
    expect(failed.map(({ tensor, step }) => [tensor, step])).toEqual([['n0.W', 0]]);
  });
});

describe('products of bytes in float32', () => {
  const exact = { kind: 'sgd-exact', e: 4, m: [[0, 1]] };
  const bytes = (optimizer: object) =>
    smallNet([{ op: 'dense', out: 3 }], { batch: 4, g: 15, input: { shape: [3], frac: 8 }, optimizer });
  const examples = (label: number): NetExamples => ({
    count: 4,
    features: new Uint8Array(12).fill(255),
    labels: Int32Array.of(0, label, label, 0),
  });

  // All of one class: its column of errors sums to 2/3 of 4·2^15 before any training, times 255 beyond 2^24.
  it.each([
    ['sure', { ...adamw, lr }, 1, true],
    ['not sure', { ...adamw, lr }, 0, false],
    ['sure, by exact descent', exact, 1, true],
    ['not sure, by exact descent', exact, 0, false],
  ])('%s', async (_, optimizer, label, isSure) => {
    const given = bytes(optimizer);
    const state = startState(given, drawnParameters(given));
    const { outcome, calls } = await train(given, examples(label), state, 1);
    expect(calls.map(({ isQuick }) => isQuick)).toEqual(isSure ? [true] : [true, false]);
    expect(outcome).toEqual(netStepReference(given, state, [], examples(label), 0).state);
  });

  it('none where float64 alone is asked for', async () => {
    const given = bytes(exact);
    const state = startState(given, drawnParameters(given));
    const options = parseEngineRequest({ manifest: {}, records: '', digestAt: [1], carrier: 'float64' });
    const { outcome, calls } = await train(given, examples(1), state, 1, options);
    expect(options.hasBytes).toBe(false);
    expect(calls.map(({ isQuick }) => isQuick)).toEqual([false]);
    expect(outcome).toEqual(netStepReference(given, state, [], examples(1), 0).state);
  });
});
