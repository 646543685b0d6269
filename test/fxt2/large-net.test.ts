/** A net from 2^20 parameters on is carried tensor by tensor, and its batch's parts run in turn (libs/step/SPEC.md §26). */
import { expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { drawnParameters, netOf, netStepReference, packedTensors, startState, stateDigest } from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { engineDigests } from '#test/net-training';
import { batchParts } from '../../libs/step/src/net/batch-parts.js';

const [vocab, width, T] = [65_536, 16, 8];
const m = smallNet(
  [
    { op: 'embedding', vocab, out: width },
    { op: 'dense', out: 2 },
  ],
  {
    ...{ batch: 4096, input: { shape: [T], tokens: true }, labelShape: [T] },
    optimizer: { kind: 'sgd', decay: 655, lr: { frac: 24, points: [[0, 1 << 12]] } },
  },
);

it('has the state of the reference', async () => {
  expect(batchParts(netOf(m))).toBeGreaterThan(1);
  expect(packedTensors(m).map(({ parts }) => parts.length)).toEqual([1, 1, 1]);
  const examples = randomExamples(m, seeded(9), 1, vocab);
  const { state } = netStepReference(m, startState(m, drawnParameters(m)), [], examples, 0);
  expect(await engineDigests(m, examples, [1])).toEqual([toHex(stateDigest(m, state))]);
});
