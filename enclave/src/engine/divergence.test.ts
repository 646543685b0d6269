import { expect, it } from 'vitest';
import {
  drawnParameters,
  GuardViolation,
  initialWeights,
  startState,
  type Manifest,
  type NetManifest,
} from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { tinyManifest } from '#test/tiny-job';
import { Engine } from './engine.js';
import { NetEngine } from './net-engine.js';

/** Trains to the end. @returns how the run left its range, or null */
async function outcome(training: Promise<unknown>, engine: { close(): Promise<void> }): Promise<GuardViolation | null> {
  try {
    return await training.then(() => null);
  } catch (error) {
    if (error instanceof GuardViolation) return error;
    throw error;
  } finally {
    await engine.close();
  }
}

async function netOutcome(m: NetManifest, chunkSteps = 100): Promise<GuardViolation | null> {
  const engine = await NetEngine.open(m, []);
  const dataset = engine.load(randomExamples(m, seeded(1), 1 / 64));
  const request = { dataset, weights: startState(m, drawnParameters(m)), fromStep: 0, stepCount: m.steps, chunkSteps };
  return outcome(engine.train(request), engine);
}

async function perceptronOutcome(m: Manifest): Promise<GuardViolation | null> {
  const engine = await Engine.open(m);
  const next = seeded(2);
  const features = Uint8Array.from({ length: 32 * m.dims[0]! }, () => 256 * next());
  const labels = Uint8Array.from({ length: 32 }, () => m.dims.at(-1)! * next());
  const dataset = engine.load({ count: 32, features, labels });
  return outcome(engine.train({ dataset, weights: initialWeights(m), fromStep: 0, stepCount: m.steps }), engine);
}

/** A linear net under squared error, which converges or diverges as its rate says. */
const line = (optimizer: object, more: object = {}) =>
  smallNet([{ op: 'dense', out: 2 }], {
    ...{ batch: 8, steps: 200, labelShape: [2], loss: { kind: 'mse' }, a: 10, g: 10, optimizer, ...more },
  });
const descent = (points: readonly (readonly number[])[]) => line({ kind: 'sgd', lr: { frac: 24, points } });
const exact = (e: number) => line({ kind: 'sgd-exact', e, m: [[0, 1]] });

it('a net that diverges says which tensor at which step, how fast it grew, and a rate that does not', async () => {
  const violation = await netOutcome(descent([[0, 2 ** 21]]));
  expect(violation).toMatchObject({ code: 'GUARD_VIOLATION', tensor: 'n0.W', step: 3, growth: { steps: 3 } });
  expect(violation!.growth!.factor).toBeCloseTo(5.4, 1);
  expect(violation!.detail.got).toContain('5.4 times as large as 3 steps before');
  const [, rate] = /from 2097152·2\^-24 = 0\.125 to (\d+)·2\^-24 = 0\.0454,/.exec(violation!.detail.action!)!;
  expect(await netOutcome(descent([[0, Number(rate)]]))).toBeNull();
});

it('and the same whatever the calls of the runtime are', async () => {
  const [whole, ...parts] = await Promise.all([100, 1, 2, 3].map((n) => netOutcome(descent([[0, 2 ** 21]]), n)));
  for (const part of parts) expect(part!.toJSON()).toEqual(whole!.toJSON());
});

it('under exact descent the exponent to raise is named, and does not diverge', async () => {
  const violation = await netOutcome(exact(2));
  expect(violation).toMatchObject({ tensor: 'n0.W', growth: { steps: 1 } });
  expect(violation!.detail.action).toContain('e from 2 to 5 (--lr 0.71 of model init);');
  expect(await netOutcome(exact(5))).toBeNull();
});

/** Two layers that may not saturate. */
const layered = (a: number) =>
  line(
    { kind: 'sgd', lr: { frac: 24, points: [[0, 2 ** 20]] } },
    {
      overflow: 'fail',
      layers: [
        { op: 'dense', out: 4 },
        { op: 'dense', out: 2, a },
      ],
    },
  );

it.each([
  ['values', 12, 'n1 within -32768..32767 at step 2'],
  ['errors', 8, 'n0 within -32768..32767 for its errors at step 2'],
])('an edge that may not saturate is named by its %s, with its room', async (_, a, expected) => {
  const violation = await netOutcome(layered(a));
  expect(violation).toMatchObject({ detail: { expected }, growth: { steps: 2 } });
  expect(violation!.growth!.factor).toBeGreaterThan(4);
  expect(violation!.detail.action).toContain('or give the edge fewer bits of fraction (a, g), or let it saturate');
});

it('a perceptron of fxt 1 that diverges says the same of its settings', async () => {
  const m = tinyManifest({ e: 0, steps: 400 });
  const violation = await perceptronOutcome(m);
  expect(violation).toMatchObject({ code: 'GUARD_VIOLATION', tensor: expect.stringMatching(/^[YGWb]\d$/) as string });
  expect(violation!.growth!.factor).toBeGreaterThan(1);
  const [, raised] = /to (\d+), \d+;/.exec(violation!.detail.action!)!;
  expect(await perceptronOutcome(tinyManifest({ e: Number(raised), steps: 400 }))).toBeNull();
});
