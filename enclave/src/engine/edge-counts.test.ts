import { describe, expect, it } from 'vitest';
import {
  addCounts,
  frozenOf,
  netStepReference,
  startState,
  type EdgeCounts,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { randomExamples, randomParameters, seeded, smallNet } from '#test/net-agreement';
import { NetEngine } from './net-engine.js';

const dense = (out: number) => ({ op: 'dense', out });
/** So slow that no weight leaves its guard; edges of few whole bits saturate. */
const netOf = (layers: readonly object[], more: object = {}) =>
  smallNet(layers, { a: 12, optimizer: { kind: 'sgd', lr: { frac: 40, points: [[0, 1]] } }, ...more });
const nets: Readonly<Record<string, NetManifest>> = {
  'two readers of an edge': netOf(
    [{ ...dense(3), id: 'p' }, { ...dense(3), id: 'q', in: 'p' }, { op: 'add', in: ['p', 'q'] }, dense(2)],
    { batch: 3 },
  ),
  'a relu with an end of its own': netOf([dense(8), { op: 'relu', abits: 9 }, dense(3)], { batch: 4 }),
  'a frozen layer first, which no error reaches': netOf([{ ...dense(4), frozen: true }, { op: 'tanh' }, dense(3)]),
  'maps, which are counted before they are flat': netOf(
    [{ op: 'conv2d', k: [2, 2], out: 2 }, { op: 'relu', abits: 12 }, { op: 'flatten' }, dense(3)],
    { input: { shape: [4, 4, 1], frac: 8 }, batch: 2, a: 14 },
  ),
  'one record in sixteen': netOf([dense(4), { op: 'relu' }, dense(3)], { batch: 80 }),
  'a batch in parts': netOf(
    [
      { op: 'conv2d', k: [1, 1], out: 32 },
      { op: 'relu', abits: 12 },
      { op: 'maxpool', k: [8, 8] },
      { op: 'flatten' },
      dense(3),
    ],
    { input: { shape: [32, 32, 1], frac: 8 }, batch: 16 },
  ),
};
/** Of the others all. */
const records: Readonly<Record<string, number>> = { 'one record in sixteen': 5, 'a batch in parts': 4 };

/** The start of random parameters, large enough that edges saturate. */
function startOf(m: NetManifest): { parameters: Weights; state: Weights } {
  const parameters = randomParameters(m, seeded(3), 1 / 4);
  return { parameters, state: startState(m, parameters) };
}

async function trained(m: NetManifest, isCounted: boolean) {
  const { parameters, state } = startOf(m);
  const engine = await NetEngine.open(m, frozenOf(m, parameters), { isCounted });
  try {
    const dataset = engine.load(randomExamples(m, seeded(1), 1 / 2));
    const edges: (readonly EdgeCounts[])[] = [];
    const onChunk = (chunk: { edges: readonly EdgeCounts[] }) => void edges.push(chunk.edges);
    const request = { dataset, weights: state, fromStep: 0, stepCount: 1, onChunk };
    return { weights: await engine.train(request), edges: edges[0]! };
  } finally {
    await engine.close();
  }
}

/** The same over the integers of the reference, of the first records of the batch. */
function countedByReference(m: NetManifest, records: number): EdgeCounts[] {
  const { parameters, state } = startOf(m);
  const { values, errors } = netStepReference(
    ...([m, state, frozenOf(m, parameters), randomExamples(m, seeded(1), 1 / 2), 0] as const),
  );
  const firstOf = (tensor?: { data: readonly bigint[] }): readonly bigint[] =>
    tensor?.data.slice(0, (tensor.data.length / m.batch) * records) ?? [];
  const count = (of: readonly bigint[], holds: (x: bigint) => boolean): number => of.filter(holds).length;
  return m.layers
    .filter(({ op }) => op !== 'flatten')
    .map(({ id, op, abits }) => {
      const [own, error] = [firstOf(values.get(id as string)), firstOf(errors.get(id as string))];
      const high = op === 'relu' ? 2n ** BigInt(abits as number) - 1n : 32_767n;
      return {
        ...{ edge: id as string, values: own.length, errors: error.length },
        saturatedValues: count(own, (x) => x === high || x === -32_768n),
        saturatedErrors: count(error, (x) => x >= 32_767n || x <= -32_768n),
        zeroErrors: count(error, (x) => x === 0n),
      };
    });
}

describe('counts on edges', () => {
  it.each(Object.entries(nets))('of %s are those of the reference', async (name, m) => {
    const { edges } = await trained(m, true);
    expect(edges).toEqual(countedByReference(m, records[name] ?? m.batch));
    const total = edges.reduce(
      (sum, { saturatedValues, saturatedErrors }) => sum + saturatedValues + saturatedErrors,
      0,
    );
    expect(total).toBeGreaterThan(0);
  });

  it.each(Object.entries(nets))('of %s change no bit, and are none where nobody asks', async (_, m) => {
    const [counted, plain] = [await trained(m, true), await trained(m, false)];
    expect(counted.weights).toEqual(plain.weights);
    expect(plain.edges).toEqual([]);
  });

  it('add up over calls', () => {
    const one = { edge: 'n0', values: 8, saturatedValues: 1, errors: 8, saturatedErrors: 2, zeroErrors: 3 };
    const twice = { edge: 'n0', values: 16, saturatedValues: 2, errors: 16, saturatedErrors: 4, zeroErrors: 6 };
    expect(addCounts([], [one])).toEqual([one]);
    expect(addCounts([one], [one])).toEqual([twice]);
  });
});
