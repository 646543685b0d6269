import { describe, expect, it } from 'vitest';
import { parseNetManifest } from '../manifest.js';
import { attend, attendBack } from './attention-reference.js';
import { placeOf, type Attention } from './attention-place.js';
import { attention } from './attention.js';
import type { Edge, NetLayer } from '../edge.js';
import { clamp } from '../../integers.js';
import type { IntTensor } from '../tensor.js';
import type { ReferenceRun } from './op.js';

const edge: Edge = {
  ...{ id: 'q', shape: [2, 1], a: 8, g: 12, max: 1n << 15n, element: 'int16', hasError: true },
};

function layer(members: Partial<Attention> = {}, output: Partial<Edge> = {}): NetLayer<Attention> {
  return {
    ...{ id: 'at', index: 3, op: 'attention', parameters: {}, batch: 1, seed: `0x${'00'.repeat(32)}` },
    members: { heads: 1, causal: false, E: 12, k: 28, ...members },
    inputs: [edge, { ...edge, id: 'k' }, { ...edge, id: 'v' }],
    output: { ...edge, id: 'at', ...output },
  };
}

function runOf(cuts: string[] = []): ReferenceRun {
  return {
    step: 0,
    sat(x, name, bits = 16) {
      const high = (1n << BigInt(bits - 1)) - 1n;
      const cut = clamp(x, -high - 1n, high);
      if (cut !== x) cuts.push(`${name} ${bits}`);
      return cut;
    },
  };
}

const column = (...data: number[]): IntTensor => ({ dims: [1, data.length, 1], data: data.map(BigInt) });

describe('attention by hand, two places of width 1', () => {
  // σ = 4096; S = RS(q·k·4096, 20): with q = (256, 256), k = (0, 256), S = (0, 256) in both rows; the shares of
  // 0 and 1 at fraction 12 with E 12: ε = (1507, 4096), ι = FDIV(2^28, 5603) = 47909, P = RS(ε·ι, 16) = (1102, 2994).
  const [q, k, v] = [column(256, 256), column(0, 256), column(100, -300)];

  it('forward', () => {
    const { output, saved } = attend(placeOf(layer()), [q, k, v], runOf());
    expect(saved.P!.data).toEqual([1102n, 2994n, 1102n, 2994n]);
    // RS(1102·100 − 2994·300, 12) = RS(−788000, 12)
    expect(output.data).toEqual([-192n, -192n]);
  });

  it('causal: the first place reads itself alone', () => {
    const { output, saved } = attend(placeOf(layer({ causal: true })), [q, k, v], runOf());
    expect(saved.P!.data).toEqual([4096n, 0n, 1102n, 2994n]);
    expect(output.data).toEqual([100n, -192n]);
  });

  it('backward', () => {
    const P: IntTensor = { dims: [1, 1, 2, 2], data: [1102n, 2994n, 1102n, 2994n] };
    const G = column(400, 0);
    const [dQ, dK, dV] = attendBack(placeOf(layer()), G, [q, k, v], P, [true, true, true], runOf());
    // RS(1102·400, 12), RS(2994·400, 12)
    expect(dV!.data).toEqual([108n, 292n]);
    // dP = RS(400·(100, −300), 4) = (2500, −7500); ρ = RS(1102·2500 − 2994·7500, 12) = −4810;
    // dS = RS(1102·7310, 12), RS(−2994·2690, 12) = (1967, −1966); the second row has none.
    // dQ = RS((−1966·256)·4096, 24), dK = RS(dSᵀ·256·4096, 24)
    expect(dQ!.data).toEqual([-123n, 0n]);
    expect(dK!.data).toEqual([123n, -123n]);
  });

  it('what is not wanted is not computed', () => {
    const cuts: string[] = [];
    const P: IntTensor = { dims: [1, 1, 2, 2], data: [1102n, 2994n, 1102n, 2994n] };
    const extreme = column(32_767, -32_768);
    const errors = attendBack(placeOf(layer()), extreme, [q, k, extreme], P, [false, false, true], runOf(cuts));
    expect(errors.map((error) => error === undefined)).toEqual([true, true, false]);
    expect(cuts).toEqual([]);
  });
});

describe('cuts of attention', () => {
  const extreme = column(32_767, -32_768);

  it('cuts scores at 16 bits, but none that a causal row does not have', () => {
    const cuts: string[] = [];
    attend(placeOf(layer()), [extreme, extreme, column(0, 0)], runOf(cuts));
    expect(cuts).toEqual(['at 16', 'at 16', 'at 16', 'at 16']);
    const own: string[] = [];
    attend(placeOf(layer({ causal: true })), [column(32_767, 0), column(0, 32_767), column(0, 0)], runOf(own));
    expect(own).toEqual([]);
  });

  it('cuts dP at 20 bits and dS at 18', () => {
    const cuts: string[] = [];
    const P: IntTensor = { dims: [1, 1, 2, 2], data: [2048n, 2048n, 2048n, 2048n] };
    const inputs = [column(0, 0), column(0, 0), extreme];
    attendBack(placeOf(layer()), extreme, inputs, P, [true, true, false], runOf(cuts));
    // |dO·v|·2^-4 = 2^26 leaves 20 bits; P·(dP − ρ) = 2^18 leaves 18.
    expect(new Set(cuts)).toEqual(new Set(['at 20', 'at 18']));
  });
});

describe('what attention refuses', () => {
  function parse(at: object, qkv: readonly object[] = [{}, {}, {}], more: object = {}): unknown {
    return parseNetManifest({
      ...{ fxt: 2, seed: `0x${'00'.repeat(32)}`, batch: 1, steps: 1, a: 8, g: 10, wint: 3, labelShape: [4] },
      input: { shape: [4, 6], dtype: 'int16', frac: 8 },
      layers: [
        ...['q', 'k', 'v'].map((id, i) => ({ op: 'dense', id, in: 'input', out: 6, bias: false, ...qkv[i] })),
        { op: 'attention', in: ['q', 'k', 'v'], heads: 2, causal: true, ...at },
      ],
      ...{ loss: { kind: 'softmax-ce', E: 12, k: 28 }, optimizer: { kind: 'sgd-exact', e: 2, m: [[0, 1]] } },
      ...more,
    });
  }

  it('writes its defaults out', () => {
    expect(parse({})).toMatchObject({
      layers: [{}, {}, {}, { op: 'attention', id: 'n3', in: ['q', 'k', 'v'], heads: 2, causal: true, E: 12, k: 28 }],
    });
    expect(attention.arity).toBe(3);
  });

  it.each([
    [{ heads: 4 }, [{}, {}, {}], 'OP_MEMBER'],
    [{ in: ['q', 'k'] }, [{}, {}, {}], 'OP_INPUT'],
    [{ causal: undefined }, [{}, {}, {}], 'MANIFEST_MISSING_FIELD'],
    [{ frozen: true }, [{}, {}, {}], 'OP_MEMBER'],
    [{}, [{ a: 7 }, {}, {}], 'OP_SHAPE'],
    [{}, [{}, { g: 9 }, {}], 'OP_SHAPE'],
    [{}, [{}, {}, { out: 8 }], 'OP_SHAPE'],
  ])('%j of inputs %j: %s', (at, qkv, code) => {
    expect(() => parse(at, qkv)).toThrow(expect.objectContaining({ code }));
  });

  // σ = 4096 for heads of width 1: T·2^32·σ stays below 2^53 up to 511 places.
  it('more places than its sums can carry', () => {
    const many = (T: number): unknown =>
      parse({ heads: 6 }, [], { input: { shape: [T, 6], dtype: 'int16', frac: 8 }, labelShape: [T] });
    expect(many(511)).toMatchObject({ batch: 1 });
    expect(() => many(512)).toThrow(expect.objectContaining({ code: 'STEP_RANGE_ATTENTION' }));
  });
});
