/** Products that the engine takes by bytes, and as float64 takes them: both as the reference has them (libs/step/SPEC.md §26). */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import { buildNetTrainGraph, drawnParameters, encodeModel, GraphBuilder, type NetManifest } from '#libs/step';
import {
  engineOutcome,
  randomExamples,
  randomParameters,
  referenceOutcome,
  seeded,
  smallNet,
} from '#test/net-agreement';
import { byteSumsMax } from '../../libs/step/src/net/byte-products.js';
import { byteRowsMax, emitSlicedSums } from '../../libs/step/src/net/byte-sums.js';
import { NetEmitter } from '../../libs/step/src/net/emitter.js';

const lr = { frac: 24, points: [[0, 1 << 16]] };
const optimizer = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr };
const side = (most: number) => fc.integer({ min: 1, max: most });
const pair = (most: number) => fc.array(side(most), { minLength: 2, maxLength: 2 });
const convolution = fc.record({
  ...{ k: pair(3), stride: pair(2), bias: fc.boolean() },
  pad: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 4, maxLength: 4 }),
});

/** Names of ops stand in a model as they are. */
const modelOf = (m: NetManifest, hasBytes: boolean): Buffer =>
  Buffer.from(buildNetTrainGraph(m, { isQuick: true, isWatched: false, hasBytes }).model);

/** Whether a graph has such a product. */
const hasProduct = (m: NetManifest, hasBytes: boolean): boolean => modelOf(m, hasBytes).includes('MatMulInteger');

async function agrees(m: NetManifest, seed: number, sizes: readonly [number, number]): Promise<void> {
  const next = seeded(seed);
  const parameters = randomParameters(m, next, sizes[0]);
  const examples = randomExamples(m, next, sizes[1]);
  const expected = referenceOutcome(m, parameters, examples);
  for (const hasBytes of [true, false]) {
    expect(await engineOutcome(m, parameters, examples, hasBytes)).toEqual(expected);
  }
}

const one = fc.record({
  ...{ first: convolution, second: convolution, C: side(2), seed: fc.nat() },
  ...{ dtype: fc.constantFrom('uint8', 'int16'), overflow: fc.constantFrom('saturate', 'fail') },
  // Up to the ends of every range: there every digit is at an end of its own.
  ...{ weights: fc.constantFrom(2 ** -8, 2 ** -3, 1 - 2 ** -20), features: fc.constantFrom(2 ** -8, 1) },
});

it('convolutions over bytes, over numbers of 16 bits and over edges', async () => {
  await fc.assert(
    fc.asyncProperty(one, async ({ first, second, C, seed, dtype, overflow, weights, features }) => {
      const layers = [
        { op: 'conv2d', out: 2, ...first },
        { op: 'conv2d', out: 3, ...second, pad: second.pad.map((size) => size + 2) },
        ...[{ op: 'flatten' }, { op: 'dense', out: 3 }],
      ];
      const m = smallNet(layers, { input: { shape: [4, 5, C], dtype, frac: 8 }, overflow, optimizer, g: 14 });
      expect(hasProduct(m, true)).toBe(true);
      expect(hasProduct(m, false)).toBe(false);
      await agrees(m, seed, [weights, features]);
    }),
    { numRuns: 25, seed: 20_261_126 },
  );
});

it.each([2 ** -8, 1 - 2 ** -20])('a dense layer on bytes that is moved in slices, weights of %d', async (size) => {
  const m = smallNet([{ op: 'dense', out: 352 }, { op: 'relu' }, { op: 'dense', out: 3 }], {
    ...{ input: { shape: [200], frac: 8 }, optimizer },
  });
  expect([true, false].map((hasBytes) => hasProduct(m, hasBytes))).toEqual([true, false]);
  await agrees(m, 7, [size, 1]);
});

it('gradient sums of slices, at the ends of all ranges', async () => {
  const [rows, fan, out] = [byteRowsMax, 5, 4];
  const graph = new GraphBuilder('s');
  const e = new NetEmitter(graph, {
    ...{ isTraining: true, overflow: 'saturate', hasRoom: true, records: rows, prefix: '' },
  });
  emitSlicedSums(e, 'x', 'G', [3, 2]).forEach((sum, i) => e.output(sum, `D${i}`));
  const model = graph.encode(
    'sums',
    [
      { name: 'x', type: 'uint8', dims: [rows, fan] },
      { name: 'G', type: 'float64', dims: [rows, out] },
    ],
    [3, 2].map((size, i) => ({ name: `D${i}`, type: 'int32', dims: [size, out] })),
  );
  const session = await InferenceSession.create(encodeModel(model), sessionOptions(1));
  const next = seeded(11);
  const x = Uint8Array.from({ length: rows * fan }, (_, i) => [255, 0, 1, 128, Math.floor(256 * next())][i % fan]!);
  const G = Float64Array.from(
    { length: rows * out },
    (_, i) =>
      [-(2 ** 15), 2 ** 15 - 1, [-129, -128, 127, 128][(i >> 2) % 4]!, Math.floor(2 ** 16 * next()) - 2 ** 15][
        i % out
      ]!,
  );
  const result = await session.run({
    x: new Tensor('uint8', x, [rows, fan]),
    G: new Tensor('float64', G, [rows, out]),
  });
  await session.release();
  const expected = Array.from({ length: fan * out }, (_, at) =>
    Array.from({ length: rows }, (_, row) => x[row * fan + Math.floor(at / out)]! * G[row * out + (at % out)]!).reduce(
      (sum, term) => sum + term,
      0,
    ),
  );
  expect([...(result.D0!.data as Int32Array), ...(result.D1!.data as Int32Array)]).toEqual(expected);
});

it('a part of a batch with more rows than an int32 has room for takes its gradient sums in float32', () => {
  const net = (batch: number) =>
    smallNet([{ op: 'dense', out: 352 }, { op: 'relu' }, { op: 'dense', out: 3 }], {
      ...{ batch, input: { shape: [200], frac: 8 }, optimizer },
    });
  const products = (m: NetManifest) => modelOf(m, true).toString('latin1').split('MatMulInteger').length - 1;
  // Eight parts; three digits of the weights for each of them, and two bytes of the errors for each of three slices.
  expect([8 * byteRowsMax, 16 * byteRowsMax].map((batch) => products(net(batch)))).toEqual([8 * 9, 8 * 3]);
});

it.each([
  [
    'a convolution',
    { op: 'conv2d', k: [3, 3], out: 3 },
    { shape: [3, 3, 1], dtype: 'int16', frac: 8 },
    3,
    1 - 2 ** -20,
  ],
  ['a dense layer in slices', { op: 'dense', out: 11 }, { shape: [2, 3200], frac: 8 }, 2, 2 ** -2],
])('%s before a flatten has the errors of the loss, up to 2^15', async (_, layer, input, seed, weights) => {
  const loss = { kind: 'softmax-ce', E: 15, k: 30 };
  const m = smallNet([layer, { op: 'flatten' }], { input, g: 15, optimizer, loss });
  // Scores so far apart that a share is 1.
  await agrees(m, seed, [weights, 1]);
});

it.each([
  [byteSumsMax, true],
  [byteSumsMax + 1, false],
])('errors of -1, with low bytes of 255, under %i rows of 255: by bytes %s', async (rows, isByBytes) => {
  const layers = [{ op: 'conv2d', k: [1, 1], out: 1 }, { op: 'maxpool', k: [1, 1] }, { op: 'flatten' }];
  const m = smallNet(layers, {
    ...{ batch: 1, input: { shape: [1, rows, 1], frac: 8 }, labelShape: [rows], loss: { kind: 'mse' } },
    ...{ g: 8, optimizer: { kind: 'sgd', gq: 16, hbits: 36, lr: { frac: 20, points: [[0, 1]] } } },
  });
  expect(hasProduct(m, true)).toBe(isByBytes);
  const parameters = drawnParameters(m).map((one) => ({ ...one, values: one.values.fill(0n) }));
  const examples = { count: 1, features: new Uint8Array(rows).fill(255), labels: new Int32Array(rows).fill(1) };
  expect(await engineOutcome(m, parameters, examples)).toEqual(referenceOutcome(m, parameters, examples));
});

it("a convolution whose errors are the loss's own is none of them, for 2^15 has no two bytes", () => {
  const m = smallNet([{ op: 'conv2d', k: [2, 2], out: 3 }], {
    ...{ input: { shape: [3, 3, 1], dtype: 'int16', frac: 8 }, labelShape: [2, 2], g: 15, optimizer },
  });
  expect(hasProduct(m, true)).toBe(false);
});
