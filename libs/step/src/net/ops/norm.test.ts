import { describe, expect, it } from 'vitest';
import { netOf, parseNetManifest } from '../manifest.js';
import type { NetManifest } from '../net.js';
import { netForwardReference, netStepReference } from '../reference.js';
import { drawnParameters, startState } from '../state.js';

function net(norm: object, more: object = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'00'.repeat(32)}`, batch: 1, steps: 1, input: { shape: [2], dtype: 'int16', frac: 8 } },
    ...{ a: 8, g: 10, wint: 3, layers: [norm], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
    ...{ optimizer: { kind: 'sgd-exact', e: 4, m: [[0, 1]] } },
    ...more,
  });
}

function forward(m: NetManifest, x: readonly number[]): readonly bigint[] {
  const features = Int16Array.from(x);
  return netForwardReference(m, drawnParameters(m), { count: 1, features, labels: Int32Array.of(0) }).data;
}

describe('the norms by hand', () => {
  // f = 12: xs = 16·(768, 1024) = (12288, 16384); their mean square is 209715200, with eps 168 r = 14481;
  // inv = floor(2^34 / 14481) = 1186373; n = (869, 1159) at fraction 10, y = RS(n, 2).
  it('rmsnorm of 3 and 4', () => {
    const m = net({ op: 'rmsnorm' });
    expect((netOf(m).layers[0]!.members as { eps: number }).eps).toBe(168);
    expect(forward(m, [768, 1024])).toEqual([217n, 290n]);
  });

  // The mean is 14336: xs = (−2048, 2048), r = ISQRT(4194304 + 168) = 2048, inv = 2^23, n = ±1024.
  it('layernorm of 3 and 4', () => {
    expect(forward(net({ op: 'layernorm' }), [768, 1024])).toEqual([-256n, 256n]);
  });

  // xs = 0, so r = ISQRT(eps) and everything is 0.
  it('a row of zeros', () => {
    expect(forward(net({ op: 'rmsnorm' }), [0, 0])).toEqual([0n, 0n]);
    expect(forward(net({ op: 'layernorm' }), [5, 5])).toEqual([0n, 0n]);
  });
});

describe('what a norm learns', () => {
  // y = (−256, 256) makes shares 0.119, 0.881 of 2^10: with E 12 (554, 4096)/4650, G = (122 − 1024, 902).
  it('γ by n·G, β by G, exactly', () => {
    const m = net({ op: 'layernorm' });
    const start = startState(m, drawnParameters(m));
    const examples = { count: 1, features: Int16Array.of(768, 1024), labels: Int32Array.of(0) };
    const { state, error } = netStepReference(m, start, [], examples, 0);
    expect(error.data).toEqual([-902n, 902n]);
    const one = 1n << 24n; // w = f_D + e = 10 + 10 + 4
    expect(Array.from(state[0]!.values)).toEqual([one - 902n * 1024n, one - 902n * 1024n]);
    expect(Array.from(state[1]!.values)).toEqual([902n, -902n]);
  });
});

/** A norm of this width, and a dense layer behind it. */
function wide(width: number): object {
  return {
    input: { shape: [width], dtype: 'int16', frac: 8 },
    layers: [{ op: 'rmsnorm' }, { op: 'dense', out: 2, bias: false }],
  };
}

describe('the members of a norm', () => {
  it.each([
    [0, 1],
    [4, 1],
    [5, 3],
    [6, 10],
    [8, 168],
    [15, 2_748_779],
  ])('eps of inputs of fraction %i is %i', (frac, eps) => {
    const optimizer = { kind: 'sgd-exact', e: 4, m: [[0, 1]] };
    const read = (): unknown =>
      netOf(net({ op: 'layernorm' }, { input: { shape: [2], dtype: 'int16', frac }, optimizer })).layers[0]!.members;
    if (frac < 6) expect(read).toThrow(expect.objectContaining({ code: 'STEP_RANGE_NORM' }));
    else expect(read()).toEqual({ eps });
  });

  it('written out in the canonical manifest, without init', () => {
    expect(net({ op: 'rmsnorm' }).layers[0]).toEqual({
      ...{ op: 'rmsnorm', id: 'n0', in: ['input'], a: 8, g: 10, eps: 168, frozen: false, wint: 3 },
    });
  });

  it('a width of 4096', () => {
    expect(netOf(net({}, wide(4096))).output.shape).toEqual([2]);
  });

  it.each([
    [{ op: 'rmsnorm', init: { W: 'zero' } }, {}, 'OP_MEMBER'],
    [{ op: 'rmsnorm', eps: 0 }, {}, 'MANIFEST_RANGE'],
    [{ op: 'rmsnorm', eps: 2 ** 40 + 1 }, {}, 'MANIFEST_RANGE'],
    [{ op: 'rmsnorm', gain: 1 }, {}, 'MANIFEST_UNKNOWN_FIELD'],
    [{ op: 'layernorm', eps: 1 }, {}, 'STEP_RANGE_NORM'],
    [{ op: 'rmsnorm' }, wide(4097), 'STEP_RANGE_NORM'],
    [{ op: 'rmsnorm', g: 20, wint: 6 }, {}, 'STEP_RANGE_PRODUCT'],
  ])('%j with %j is refused: %s', (norm, more, code) => {
    expect(() => net(norm, more)).toThrow(expect.objectContaining({ code }));
  });
});
