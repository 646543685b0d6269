import { expect, it } from 'vitest';
import { netOpNames, netProvability, opsOf, parseNetManifest } from '../index.js';

const net = (changes: object) =>
  parseNetManifest({
    ...{ fxt: 2, seed: `0x${'11'.repeat(32)}`, batch: 2, steps: 4, a: 8, g: 12, wint: 3 },
    input: { shape: [3], dtype: 'uint8', frac: 8 },
    layers: [{ op: 'flatten' }, { id: 'top', op: 'dense', out: 2 }, { op: 'flatten' }],
    loss: { kind: 'softmax-ce', E: 12, k: 28 },
    optimizer: { kind: 'sgd-exact', e: 4, m: [[0, 1]] },
    overflow: 'fail',
    ...changes,
  });

it('names every layer, and what else of a net has no step proof, in one line each', () => {
  expect(netProvability(net({}))).toEqual([expect.stringMatching(/^top: a dense layer of fxt 2 has no step proof/)]);
  const evaluate = { every: 2, metrics: ['loss'] };
  const stop = { metric: 'loss', patience: 1, minimum: 0 };
  const optimizer = { kind: 'sgd', lr: { frac: 16, points: [[0, 1]] } };
  const places = netProvability(net({ overflow: 'saturate', optimizer, evaluate, stop })).map(
    (line) => line.split(':')[0],
  );
  expect(places).toEqual(['top', 'optimizer', 'overflow', 'stop']);
});

it('tells which ops a node must know', () => {
  expect(opsOf(net({}))).toEqual(['dense', 'flatten']);
  expect(netOpNames).toEqual([...netOpNames].sort());
  expect(netOpNames).toEqual(expect.arrayContaining(['attention', 'dense', 'flatten']));
});
