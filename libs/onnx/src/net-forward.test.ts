/** The forward pass of a net whose steps may leave no range: it is cut as the reference has it, and says so. */
import { describe, expect, it } from 'vitest';
import {
  drawnParameters,
  netForwardReference,
  netOf,
  netStepReference,
  sizeOf,
  startState,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { NetForward } from './net-forward.js';

const records = 12;
/** With steps so small that no weight leaves its own range. */
const small = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 1]] } };
const fail = { overflow: 'fail', batch: records, optimizer: small };
const nets: readonly (readonly [string, NetManifest])[] = [
  ['dense layers', smallNet([{ op: 'dense', out: 6 }, { op: 'relu' }, { op: 'dense', out: 3, a: 9 }], fail)],
  [
    'a convolution, its relu and maxima',
    smallNet(
      [
        ...[{ op: 'conv2d', k: [3, 3], out: 2, a: 12 }, { op: 'relu' }, { op: 'maxpool', k: [2, 2] }],
        ...[{ op: 'flatten' }, { op: 'dense', out: 2, a: 11 }],
      ],
      { ...fail, input: { shape: [4, 4, 1], dtype: 'int16', frac: 10 } },
    ),
  ],
];

/** Of one record by a net that saturates: its output, and the first layer of which a value ends at 16 bits. */
function answerOf(m: NetManifest, parameters: Weights, { features, labels }: NetExamples, record: number) {
  const width = sizeOf(m.input.shape);
  const own = {
    count: 1,
    features: features.subarray(record * width, (record + 1) * width),
    labels: labels.subarray(0, 1),
  };
  const alone = { ...m, batch: 1, overflow: 'saturate' } as const;
  const { values } = netStepReference(alone, startState(alone, parameters), [], own, 0);
  const isAtEnd = (value: bigint): boolean => value === 32_767n || value === -32_768n;
  const cut = netOf(m).layers.find(({ id }) => values.get(id)!.data.some(isAtEnd))?.id;
  return { output: netForwardReference(m, parameters, own).data.map(Number), cut };
}

describe.each(nets)('of %s', (_, m) => {
  it('is cut as the reference has it, and names the first record that is, and its layer', async () => {
    const forward = await NetForward.open(m);
    const ends = new Set<string | undefined>();
    for (let round = 0; round < 24; round++) {
      const grown = 1n + BigInt(round % 3);
      const parameters = drawnParameters(m).map((one) => ({ ...one, values: one.values.map((w) => w * grown) }));
      const examples = randomExamples(m, seeded(round), 2 ** -(round % 8));
      const answers = Array.from({ length: records }, (_, record) => answerOf(m, parameters, examples, record));
      const found: number[] = [];
      for await (const { first, rows, output, isCut } of forward.outputs(parameters, examples, 5)) {
        found.push(...output);
        expect(isCut).toBe(answers.slice(first, first + rows).some(({ cut }) => cut !== undefined));
      }
      expect(found).toEqual(answers.flatMap(({ output }) => output));
      const record = answers.findIndex(({ cut }) => cut !== undefined);
      const tensor = answers[record]?.cut;
      ends.add(tensor);
      if (record >= 0) expect(await forward.firstCut(parameters, examples)).toMatchObject({ record, tensor });
    }
    expect(ends.size, [...ends].join()).toBe(3);
    await forward.close();
  });
});
