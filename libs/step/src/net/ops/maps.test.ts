import { describe, expect, it } from 'vitest';
import { netOf, parseNetManifest } from '../manifest.js';
import type { NetManifest } from '../net.js';
import { netForwardReference, netStepReference } from '../reference.js';
import { drawnParameters, startState } from '../state.js';
import { netOps } from './index.js';
import type { Passed, ReferenceRun } from './op.js';
import { tensorOf, type IntTensor } from '../tensor.js';

function net(layers: readonly object[], shape: readonly number[], more: object = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'11'.repeat(32)}`, batch: 1, steps: 4, input: { shape, dtype: 'int16', frac: 8 } },
    ...{ a: 8, g: 10, wint: 3, layers: [...layers, { op: 'flatten' }, { op: 'dense', out: 2 }] },
    ...{ loss: { kind: 'softmax-ce', E: 12, k: 28 }, optimizer: { kind: 'sgd-exact', e: 4, m: [[0, 1]] } },
    ...more,
  });
}

/** Whoever calls it cuts nothing. */
const run: ReferenceRun = { step: 0, sat: (x) => x };

/** Output and error of the input of the layer of one op, with a convolution of one pixel before it. */
function pass(op: object, x: IntTensor, G: (output: IntTensor) => IntTensor): readonly [IntTensor, IntTensor] {
  const [height, width, C] = x.dims.slice(1) as [number, number, number];
  const m = net([{ op: 'conv2d', k: [1, 1], out: C }, op], [height, width, C]);
  const layer = netOf(m).layers[1]!;
  const face = netOps[layer.op]!;
  const passed: Passed = { inputs: [x], ...face.forward(layer, [x], {}, run) };
  return [passed.output, face.backward(layer, G(passed.output), passed, {}, [true], run).inputs[0]!];
}

const map = (height: number, width: number, values: readonly number[]): IntTensor => ({
  dims: [1, height, width, 1],
  data: values.map(BigInt),
});
const numbered = ({ dims }: IntTensor): IntTensor => tensorOf(dims, (i) => BigInt(10 * (i + 1)));

describe('pools by hand', () => {
  it('maxpool gives the error to the first maximum, row by row, and none to the rest', () => {
    const x = map(3, 5, [1, 7, 4, 4, 9, 7, 7, 4, 4, 9, 9, 9, 9, 9, 9]);
    const [y, dx] = pass({ op: 'maxpool', k: [2, 2] }, x, numbered);
    expect(y.data).toEqual([7n, 4n]);
    expect(dx.data.map(Number)).toEqual([0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('maxpool of negative numbers, rounded where its error is finer', () => {
    const [y, dx] = pass({ op: 'maxpool', k: [1, 2], g: 12 }, map(1, 2, [-5, -3]), ({ dims }) =>
      tensorOf(dims, () => -6n),
    );
    expect(y.data).toEqual([-3n]);
    expect(dx.data).toEqual([0n, -1n]);
  });

  it('avgpool rounds halves up, of both signs, and drops the rest', () => {
    const x = map(2, 5, [1, 2, -1, -2, 100, 1, 2, -1, -2, 100]);
    const [y, dx] = pass({ op: 'avgpool', k: [2, 2] }, x, ({ dims }) => tensorOf(dims, (i) => (i === 0 ? 6n : -6n)));
    expect(y.data).toEqual([2n, -1n]);
    expect(dx.data.map(Number)).toEqual([2, 2, -1, -1, 0, 2, 2, -1, -1, 0]);
  });

  it('avgpool to a finer and to a coarser output', () => {
    const x = map(1, 3, [1, 1, 2]);
    expect(pass({ op: 'avgpool', k: [1, 3], a: 10 }, x, numbered)[0].data).toEqual([5n]);
    expect(pass({ op: 'avgpool', k: [1, 3], a: 7 }, x, numbered)[0].data).toEqual([1n]);
  });
});

describe('a convolution by hand', () => {
  // W[ky, kx] = 2^c at one place, 0 elsewhere: the output is the padded input moved.
  it('reads the padded input with its stride', () => {
    const m = net([{ op: 'conv2d', k: [2, 2], out: 1, stride: [2, 1], pad: [1, 0, 0, 1], bias: false }], [3, 3, 1]);
    const layer = netOf(m).layers[0]!;
    const x = map(3, 3, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const one = 1n << BigInt(layer.parameters.W!.compute);
    const at = (tap: number): IntTensor =>
      netOps.conv2d!.forward(layer, [x], { Wc: [0, 1, 2, 3].map((i) => (i === tap ? one : 0n)) }, run).output;
    expect(at(0).dims).toEqual([1, 2, 3, 1]);
    expect(at(0).data.map(Number)).toEqual([0, 0, 0, 4, 5, 6]);
    expect(at(1).data.map(Number)).toEqual([0, 0, 0, 5, 6, 0]);
    expect(at(3).data.map(Number)).toEqual([2, 3, 0, 8, 9, 0]);
  });
});

describe('dropout', () => {
  const m = net(
    [
      { op: 'conv2d', k: [1, 1], out: 3 },
      { op: 'dropout', p16: 16_384 },
    ],
    [40, 50, 3],
    { batch: 2 },
  );
  const layer = netOf(m).layers[1]!;
  const x = tensorOf([2, 40, 50, 3], () => 3000n);
  const of = (step: number | null): readonly bigint[] =>
    netOps.dropout!.forward(layer, [x], {}, { step, sat: (value) => value }).output.data;

  it('drops its share, by another mask in every step, and makes up for it', () => {
    const [first, second] = [of(0), of(1)];
    expect(new Set(first)).toEqual(new Set([0n, 4000n]));
    const kept = first.filter((value) => value > 0n).length / first.length;
    expect(Math.abs(kept - 0.75)).toBeLessThan(0.01);
    const both = first.filter((value, i) => value > 0n && second[i]! > 0n).length / first.length;
    expect(Math.abs(both - 0.5625)).toBeLessThan(0.02);
  });

  it('is off in evaluation', () => {
    expect(of(null)).toEqual(x.data);
  });
});

describe('layers that do not fit are refused', () => {
  const code = (layers: readonly object[], shape: readonly number[]): string => {
    try {
      net(layers, shape);
    } catch (error) {
      return (error as { code: string }).code;
    }
    return 'none';
  };

  it.each([
    ['OP_SHAPE', [{ op: 'conv2d', k: [4, 4], out: 1 }], [3, 9, 1]],
    ['OP_SHAPE', [{ op: 'conv2d', k: [1, 1], out: 1 }], [9]],
    ['OP_SHAPE', [{ op: 'maxpool', k: [4, 1] }], [3, 9, 1]],
    ['OP_SHAPE', [{ op: 'avgpool', k: [1, 1] }], [9]],
    ['OP_SHAPE', [{ op: 'meanpool' }], [3, 3, 3]],
    ['OP_MEMBER', [{ op: 'conv2d', k: [1, 1], out: 1, groups: 2 }], [3, 9, 1]],
    ['OP_MEMBER', [{ op: 'maxpool', k: [1, 1], a: 9 }], [3, 9, 1]],
    ['OP_MEMBER', Array.from({ length: 257 }, () => ({ op: 'dropout', p16: 0 })), [3]],
    ['OP_TABLE', [{ op: 'silu', a: 9 }], [3]],
    ['MANIFEST_MISSING_FIELD', [{ op: 'dropout' }], [3]],
    ['MANIFEST_RANGE', [{ op: 'dropout', p16: 65_536 }], [3]],
    ['MANIFEST_RANGE', [{ op: 'avgpool', k: [0, 1] }], [3, 9, 1]],
    ['MANIFEST_SIZE', [{ op: 'conv2d', k: [512, 512], out: 1 }], [1000, 1000, 1]],
    ['STEP_RANGE_PRODUCT', [{ op: 'conv2d', k: [64, 64], out: 1, wint: 16 }], [64, 64, 100]],
    ['none', [{ op: 'conv2d', k: [4, 4], out: 1, pad: [1, 0, 0, 0] }], [3, 9, 1]],
    ['none', Array.from({ length: 256 }, () => ({ op: 'dropout', p16: 0 })), [3]],
  ] as const)('%s', (expected, layers, shape) => {
    expect(code(layers, shape)).toBe(expected);
  });
});

describe('overflow: fail', () => {
  const m = net([{ op: 'conv2d', k: [1, 1], out: 1, a: 16, init: { W: { n: 40 } } }], [1, 1, 1], { overflow: 'fail' });

  const big = drawnParameters(m).map((tensor) =>
    tensor.name === 'n0.W' ? { ...tensor, values: tensor.values.map(() => 1n << 18n) } : tensor,
  );
  const examples = {
    count: m.batch,
    features: new Int16Array(m.batch).fill(32_767),
    labels: new Int32Array(m.batch),
  };

  it('ends a convolution whose output leaves 16 bits', () => {
    const expected = expect.objectContaining({ code: 'GUARD_VIOLATION', tensor: 'n0' }) as unknown;
    expect(() => netStepReference(m, startState(m, big), [], examples, 0)).toThrow(expected as Error);
  });

  it('cuts it in a forward pass, which moves no weight', () => {
    const { data } = netForwardReference(m, big, examples);
    expect(data).toEqual(netForwardReference({ ...m, overflow: 'saturate' }, big, examples).data);
  });
});
