/** Parameters that a training graph moves in slices, and others that it moves together (libs/step/SPEC.md §26). */
import { expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { drawnParameters, netStepReference, packedTensors, startState, stateDigest } from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { engineDigests } from '#test/net-training';

const lr = { frac: 24, points: [[0, 1 << 16]] };
const adamw = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr };
/** 70,400 weights in slices of 67, 67 and 66 rows, and 3,520 with all biases together. */
const net = (optimizer: object) =>
  smallNet(
    [
      { op: 'dense', out: 352 },
      { op: 'dense', out: 10 },
    ],
    { input: { shape: [200], frac: 8 }, optimizer },
  );

it.each([
  ['adamw', adamw],
  ['adamw with decay and clipping', { ...adamw, decay: 655, clip: 40 }],
  ['sgd with momentum', { kind: 'sgd', momentum: [1, 3], decay: 655, clip: 40, lr }],
])('%s has the state of the reference', async (_, optimizer) => {
  const m = net(optimizer);
  const pieces = packedTensors(m).filter(({ parts }) => parts[0]!.name === 'n0.W');
  expect(pieces.length).toBe(3);
  const examples = randomExamples(m, seeded(5), 1);
  let state = startState(m, drawnParameters(m));
  const digests = [0, 1].map((step) => {
    state = netStepReference(m, state, [], examples, step).state;
    return toHex(stateDigest(m, state));
  });
  expect(await engineDigests(m, examples, [1, 2])).toEqual(digests);
});
