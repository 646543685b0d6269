/** A net from 2^20 parameters on is carried tensor by tensor, and its batch's parts run in turn (libs/step/SPEC.md §26). */
import { expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import {
  drawnParameters,
  netOf,
  netStepReference,
  packedTensors,
  startState,
  stateDigest,
  type EdgeCounts,
} from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';
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
/** One in sixteen. */
const counted = 256;

it('has the state of the reference, and counts of its first part', async () => {
  expect(batchParts(netOf(m))).toBeGreaterThan(1);
  expect(packedTensors(m).map(({ parts }) => parts.length)).toEqual([1, 1, 1]);
  const examples = randomExamples(m, seeded(9), 1, vocab);
  const start = startState(m, drawnParameters(m));
  const engine = await NetEngine.open(m, [], { isCounted: true });
  const edges: (readonly EdgeCounts[])[] = [];
  const onChunk = (chunk: { edges: readonly EdgeCounts[] }) => void edges.push(chunk.edges);
  const request = { dataset: engine.load(examples), weights: start, fromStep: 0, stepCount: 1, onChunk };
  const trained = await engine.train(request);
  await engine.close();
  const { state, values, errors } = netStepReference(m, start, [], examples, 0);
  expect(toHex(stateDigest(m, trained))).toEqual(toHex(stateDigest(m, state)));
  const first = (id: string, of: typeof values): readonly bigint[] => {
    const { data } = of.get(id)!;
    return data.slice(0, (data.length / m.batch) * counted);
  };
  const atEnds = (of: readonly bigint[]): number => of.filter((x) => x >= 32_767n || x <= -32_768n).length;
  expect(edges[0]).toEqual(
    ['n0', 'n1'].map((edge) => {
      const [own, error] = [first(edge, values), first(edge, errors)];
      return {
        ...{ edge, values: own.length, saturatedValues: atEnds(own), errors: error.length },
        ...{ saturatedErrors: atEnds(error), zeroErrors: error.filter((x) => x === 0n).length },
      };
    }),
  );
});
