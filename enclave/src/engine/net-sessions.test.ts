import { describe, expect, it } from 'vitest';
import { float64Tensors, sessionOptions } from '#libs/onnx';
import { drawnParameters, GuardViolation, parameterShapes, startState, type Weights } from '#libs/step';
import { smallNet } from '#test/net-agreement';
import { NetEngine } from './net-engine.js';
import { NetSessions } from './net-sessions.js';

const lr = { frac: 24, points: [[0, 1 << 14]] };
const adamw = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10] };
const m = smallNet([{ op: 'dense', out: 3 }], { optimizer: { ...adamw, decay: 655, lr } });
const guard = 2 ** 31 - 1;
/** What one step of this rate adds to a magnitude at most: λ·2^(u+3)·2^(w−u−ℓ). */
const move = (1 << 14) * 2 ** 15 * 2 ** (28 - 12 - 24);

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
    const sessions = await NetSessions.open(m, sessionOptions(1));
    const { graph } = await sessions.for({ tensors: float64Tensors(startAt(value)), first: 0, count });
    const names = graph.watched.map(({ tensor }) => tensor);
    await sessions.close();
    expect(names).toEqual(isSure ? [] : parameterShapes(m).map(({ name }) => name));
  });

  it('and a weight that leaves its guard is named, with the step', async () => {
    const plain = smallNet([{ op: 'dense', out: 3 }], { optimizer: { ...adamw, lr } });
    const engine = await NetEngine.open(plain, []);
    const dataset = engine.load({
      count: 2,
      features: Int16Array.of(9, 0, 0, 9, 0, 0),
      labels: Int32Array.of(1, 0),
    });
    // Together the rows ask for more of class 1, so that its weight rises: past one guard, and away from the other.
    const train = (value: number) =>
      engine.train({ dataset, weights: startAt(value), fromStep: 0, stepCount: 4 }).catch((error: unknown) => error);
    const [above, below] = [await train(guard), await train(-guard)];
    await engine.close();
    const failed = [above, below].filter((outcome) => outcome instanceof GuardViolation);
    expect(failed.map(({ tensor, step }) => [tensor, step])).toEqual([['n0.W', 0]]);
  });
});
