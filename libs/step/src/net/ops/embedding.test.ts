import { describe, expect, it } from 'vitest';
import { parseNetManifest } from '../manifest.js';
import type { NetManifest } from '../net.js';
import { netForwardReference, netStepReference } from '../reference.js';
import { drawnParameters, startState } from '../state.js';
import type { Weights } from '../../tensors.js';

function net(layers: readonly object[], more: object = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'00'.repeat(32)}`, batch: 1, steps: 1, input: { shape: [3], tokens: true } },
    ...{ a: 8, g: 10, wint: 3, labelShape: [3], layers, loss: { kind: 'softmax-ce', E: 12, k: 28 } },
    ...{ optimizer: { kind: 'sgd-exact', e: 2, m: [[0, 1]] } },
    ...more,
  });
}

function withValues(m: NetManifest, ...values: readonly (readonly number[])[]): Weights {
  return drawnParameters(m).map((tensor, i) => ({ ...tensor, values: BigInt64Array.from(values[i]!, BigInt) }));
}

const tokens = { count: 1, features: Int32Array.of(2, 0, 2), labels: Int32Array.of(0, 1, 1) };

describe('an embedding by hand', () => {
  // w = c = g + e = 12: y = SAT(RS(W, 4)).
  const m = net([{ op: 'embedding', vocab: 3, out: 2 }]);
  const parameters = withValues(m, [16, 24, 0, 0, 8, -8]);

  it('reads the row of every token', () => {
    expect(netForwardReference(m, parameters, tokens).data).toEqual([1n, 0n, 1n, 2n, 1n, 0n]);
  });

  it('adds the errors of a token that comes twice, and leaves the others alone', () => {
    const { state, error } = netStepReference(m, startState(m, parameters), [], tokens, 0);
    const G = error.data;
    const W = [16n - G[2]!, 24n - G[3]!, 0n, 0n, 8n - G[0]! - G[4]!, -8n - G[1]! - G[5]!];
    expect(Array.from(state[0]!.values)).toEqual(W);
    expect(G[0]! + G[4]!).not.toBe(0n);
  });

  it.each([[-1], [3], [2 ** 31 - 1]])('refuses token %i', (token) => {
    const examples = { ...tokens, features: Int32Array.of(0, token, 0) };
    expect(() => netForwardReference(m, parameters, examples)).toThrow(
      expect.objectContaining({ code: 'TOKEN_RANGE' }),
    );
  });
});

describe('positions by hand', () => {
  const m = net([{ op: 'position' }], { input: { shape: [3, 2], dtype: 'int16', frac: 8 } });

  it('cuts the row, then the sum', () => {
    const values = [16, 0, -16, 0, 32_767, -32_767];
    const features = Int16Array.of(32_767, 5, -32_768, -5, 0, 0);
    const examples = { ...tokens, features };
    expect(netForwardReference(m, withValues(m, values), examples).data).toEqual([
      ...[32_767n, 5n, -32_768n, -5n, 2048n, -2048n],
    ]);
    const high = net([{ op: 'position', a: 16 }], { input: { shape: [3, 2], dtype: 'int16', frac: 16 } });
    // RS(W, 12 − 16) = 16·W leaves 16 bits before the sum: 32767 − 1, not 16·4000 − 1.
    expect(
      netForwardReference(high, withValues(high, [4000, -4000, 0, 0, 0, 0]), {
        ...examples,
        features: Int16Array.of(-1, 1, 0, 0, 0, 0),
      }).data.slice(0, 2),
    ).toEqual([32_766n, -32_767n]);
  });
});

describe('what they refuse', () => {
  it.each([
    [[{ op: 'embedding', vocab: 3, out: 2 }], { input: { shape: [3], dtype: 'int32', frac: 0 } }, 'OP_INPUT'],
    [[{ op: 'dense', out: 2 }], {}, 'OP_INPUT'],
    [[{ op: 'embedding', vocab: 3 }], {}, 'MANIFEST_MISSING_FIELD'],
    [
      [{ op: 'embedding', vocab: 3, out: 2, wint: 16 }],
      { optimizer: { kind: 'sgd-exact', e: 30, m: [[0, 1]] } },
      'STEP_RANGE_PRODUCT',
    ],
    [
      [{ op: 'position', wint: 16 }],
      { input: { shape: [3, 2], dtype: 'int16', frac: 8 }, optimizer: { kind: 'sgd-exact', e: 30, m: [[0, 1]] } },
      'STEP_RANGE_PRODUCT',
    ],
    [[{ op: 'position' }], { labelShape: [], input: { shape: [3], dtype: 'int16', frac: 8 } }, 'OP_SHAPE'],
  ])('%j with %j: %s', (layers, more, code) => {
    expect(() => net(layers, more)).toThrow(expect.objectContaining({ code }));
  });

  it('writes the defaults out', () => {
    expect(
      net([
        { op: 'embedding', vocab: 3, out: 2 },
        { op: 'position', g: 9 },
      ]).layers,
    ).toEqual([
      {
        ...{ op: 'embedding', id: 'n0', in: ['input'], a: 8, g: 10, vocab: 3, out: 2, frozen: false, wint: 3 },
        init: { W: { n: 3 } },
      },
      { op: 'position', id: 'n1', in: ['n0'], a: 8, g: 9, frozen: false, wint: 3, init: { W: { n: 3 } } },
    ]);
  });
});
