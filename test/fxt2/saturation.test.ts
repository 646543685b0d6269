/** What the command line says of a net that diverges in numbers that saturate, where no guard ends it. */
import { expect, it } from 'vitest';
import { drawnParameters, startState, type NetManifest } from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { watchSaturation } from '../../apps/cli/src/model/saturation.js';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';

/** @param end rate of the last step */
const line = (rate: number, end = rate) =>
  smallNet([{ op: 'dense', out: 2 }], {
    ...{ batch: 8, steps: 60, labelShape: [2], loss: { kind: 'mse' }, a: 10, g: 10, wint: 8 },
    optimizer: { kind: 'sgd', lr: { frac: 24, points: [[0, rate], ...(end === rate ? [] : [[59, end]])] } },
  });

async function warningOf(m: NetManifest) {
  const engine = await NetEngine.open(m, [], { isCounted: true });
  const watch = watchSaturation(m);
  try {
    const dataset = engine.load(randomExamples(m, seeded(1), 1 / 64));
    const request = { dataset, fromStep: 0, stepCount: m.steps, chunkSteps: 2, onChunk: watch.see };
    await engine.train({ ...request, weights: startState(m, drawnParameters(m)) });
    return watch.warning();
  } finally {
    await engine.close();
  }
}

it('which edge at which step, how much more than before, and a rate at which nothing saturates', async () => {
  const warning = await warningOf(line(2 ** 21));
  expect(warning).toMatchObject({ code: 'TRAINING_SATURATES' });
  expect(warning!.detail.expected).toMatch(
    /^less than 10 % of the (values|errors) of edge n0 at an end of their range$/,
  );
  expect(warning!.detail.got).toMatch(/^\d[\d.]* % at step 60, [\d.]+ % 58 steps before$/);
  const [, rate] = /optimizer\.lr at step 0 from 2097152·2\^-24 = 0\.125 to (\d+)·2/.exec(warning!.detail.action!)!;
  expect(Number(rate)).toBeLessThanOrEqual(2 ** 20);
  expect(await warningOf(line(Number(rate)))).toBeNull();
});

it('names the peak of a rate that falls to the least there is', () => {
  const watch = watchSaturation(line(2 ** 21, 1));
  watch.see({
    step: 60,
    edges: [{ edge: 'n0', values: 16, saturatedValues: 8, errors: 16, saturatedErrors: 0, zeroErrors: 0 }],
  });
  expect(watch.warning()!.detail.action).toMatch(/optimizer\.lr at step 0 from 2097152·2\^-24 = 0\.125 to 1048576·/);
});
