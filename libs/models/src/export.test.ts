import { describe, expect, it } from 'vitest';
import {
  exactParameters,
  exportOnnx,
  exportSafetensors,
  importCheck,
  importOnnx,
  mappedParameters,
  quantise,
  readSafetensors,
  type ImportedModel,
} from '#libs/models';
import { InferenceSession, NetForward, Tensor } from '#libs/onnx';
import {
  drawnParameters,
  netOf,
  parameterShapes,
  parseDataHeader,
  parseNetManifest,
  type DataHeader,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { exportedFile, exportedFiles, handMade } from '#test/onnx-files';

function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const image = { shape: [12, 12, 2], dtype: 'uint8', frac: 8 };

function manifestOf(input: object, layers: readonly object[], more: object = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 2, steps: 4, input, a: 10, g: 12, wint: 3, layers },
    ...{ loss: { kind: 'softmax-ce', E: 12, k: 36 }, evaluate: null },
    optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 100]] } },
    ...more,
  });
}

const layer = (op: string, more: object = {}): object => ({ op, ...more });

const nets: Readonly<Record<string, () => NetManifest>> = {
  'a convolution net with every map op': () =>
    manifestOf(image, [
      ...[layer('conv2d', { k: [3, 3], out: 4, pad: [1, 1, 1, 1] }), layer('relu'), layer('maxpool', { k: [2, 2] })],
      ...[
        layer('conv2d', { k: [3, 3], out: 4, stride: [2, 1], pad: [1, 0, 0, 1] }),
        layer('silu'),
        layer('avgpool', { k: [2, 2] }),
      ],
      ...[
        layer('flatten'),
        layer('dropout', { p16: 16_384 }),
        layer('dense', { out: 8 }),
        layer('tanh'),
        layer('dense', { out: 3 }),
      ],
    ]),
  'a transformer': () =>
    manifestOf({ shape: [6], tokens: true }, [
      ...[layer('embedding', { vocab: 12, out: 8 }), layer('position', { id: 'x' }), layer('layernorm', { id: 'n' })],
      ...[
        layer('dense', { out: 8, id: 'q' }),
        layer('dense', { out: 8, in: 'n', id: 'k' }),
        layer('dense', { out: 8, in: 'n', id: 'v' }),
      ],
      layer('attention', { heads: 2, causal: true, in: ['q', 'k', 'v'] }),
      ...[
        layer('dense', { out: 8, id: 'p' }),
        layer('add', { in: ['x', 'p'] }),
        layer('rmsnorm'),
        layer('gelu'),
        layer('meanpool'),
      ],
      layer('dense', { out: 5 }),
    ]),
  'a net with LoRA': () =>
    manifestOf(
      { shape: [6], dtype: 'int16', frac: 10 },
      [layer('dense', { id: 'l', out: 8 }), layer('sigmoid'), layer('dense', { id: 'o', out: 4 })],
      {
        lora: { r: 2, scale: 1, on: ['l', 'o'] },
      },
    ),
};

/** Parameters that are not zero anywhere. */
function lively(m: NetManifest): Weights {
  const draw = drawn(11);
  return drawnParameters(m).map((tensor) => ({
    ...tensor,
    values: tensor.values.map((value) => value + BigInt(draw(2 ** 26) - 2 ** 25)),
  }));
}

function features(m: NetManifest, records: number): Uint8Array | Int16Array | Int32Array {
  const draw = drawn(3);
  const { shape, element } = netOf(m).input;
  const size = shape.reduce((product, side) => product * side, records);
  if (element === 'uint8') return Uint8Array.from({ length: size }, () => draw(256));
  if (element === 'int16') return Int16Array.from({ length: size }, () => draw(4_096) - 2_048);
  return Int32Array.from({ length: size }, () => draw(12));
}

async function exactOutputs(
  m: NetManifest,
  parameters: Weights,
  values: Uint8Array | Int16Array | Int32Array,
  count: number,
): Promise<readonly number[]> {
  const forward = await NetForward.open(m);
  const found: number[] = [];
  for await (const { output } of forward.outputs(parameters, { count, features: values })) found.push(...output);
  await forward.close();
  const { a } = netOf(m).output;
  return found.map((value) => value * 2 ** -a);
}

async function exportedOutputs(bytes: Uint8Array, fed: Tensor): Promise<readonly number[]> {
  const session = await InferenceSession.create(bytes);
  const { output } = await session.run({ features: fed });
  await session.release();
  return Array.from(output!.data as Float32Array);
}

const inputTensor = (m: NetManifest, values: Uint8Array | Int16Array | Int32Array, count: number): Tensor =>
  new Tensor(values instanceof Uint8Array ? 'uint8' : values instanceof Int16Array ? 'int16' : 'int32', values, [
    count,
    ...m.input.shape,
  ]);

const largest = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));

describe('the exported ONNX', () => {
  it.each(Object.keys(nets))('of %s gives in float32 what the integers give, but for their rounding', async (name) => {
    const m = nets[name]!();
    const parameters = lively(m);
    const values = features(m, 64);
    const exact = await exactOutputs(m, parameters, values, 64);
    const real = await exportedOutputs(exportOnnx(m, parameters), inputTensor(m, values, 64));
    expect(real).toHaveLength(exact.length);
    expect(Math.max(...exact.map(Math.abs))).toBeGreaterThan(0.1);
    expect(largest(exact, real)).toBeLessThan(0.02);
  });

  it('with LoRA merged has no adapters and gives the same', async () => {
    const m = nets['a net with LoRA']!();
    const parameters = lively(m);
    const values = features(m, 32);
    const [plain, merged] = [exportOnnx(m, parameters), exportOnnx(m, parameters, { mergesLora: true })];
    expect(importOnnx(merged).layers.map(({ op }) => op)).toEqual(['dense', 'sigmoid', 'dense']);
    const [one, other] = [
      await exportedOutputs(plain, inputTensor(m, values, 32)),
      await exportedOutputs(merged, inputTensor(m, values, 32)),
    ];
    expect(largest(one, other)).toBeLessThan(1e-5);
  });

  it('of a table takes the numbers of its columns', async () => {
    const m = manifestOf({ shape: [4], dtype: 'int16', frac: 12 }, [layer('dense', { out: 3 })]);
    const header = parseDataHeader({
      ...{
        layout: 2,
        features: { dtype: 'int16', shape: [4], frac: 12 },
        label: { kind: 'class', classes: 3, columns: [] },
      },
      columns: [
        { kind: 'number', name: 'age', center: 40, scale: 8 },
        { kind: 'number', name: 'height', center: 1.7, scale: 0.1 },
        { kind: 'category', name: 'colour', values: ['red', 'blue'] },
      ],
      ...{ split: { train: 8, validation: 2 }, tokenizer: null },
    });
    const parameters = lively(m);
    const row = [46, 1.65, 0, 1];
    const integers = Int16Array.of(...[6 / 8, -0.05 / 0.1, 0, 1].map((value) => Math.floor(value * 4_096 + 0.5)));
    const exact = await exactOutputs(m, parameters, integers, 1);
    const real = await exportedOutputs(
      exportOnnx(m, parameters, { header }),
      new Tensor('float32', Float32Array.from(row), [1, 4]),
    );
    expect(largest(exact, real)).toBeLessThan(2e-3);
  });

  it("of numbers answers in the label's own unit, after what the net answers", async () => {
    const m = manifestOf({ shape: [2], dtype: 'int16', frac: 12 }, [layer('dense', { out: 2, a: 12 })], {
      ...{ labelShape: [2], loss: { kind: 'mse' } },
    });
    const number = (name: string, center: number, scale: number): object => ({ name, kind: 'number', center, scale });
    const headerOf = (...columns: readonly object[]): DataHeader =>
      parseDataHeader({
        ...{ layout: 2, features: { dtype: 'int16', shape: [2], frac: 12 }, columns: [] },
        label: { kind: 'real', count: columns.length, frac: 12, columns },
        ...{ split: { train: 8, validation: 2 }, tokenizer: null },
      });
    const parameters = lively(m);
    const values = features(m, 64);
    const exact = await exactOutputs(m, parameters, values, 64);
    const header = headerOf(number('price', 447_000, 154_000), number('age', -3, 0.25));
    const real = await exportedOutputs(exportOnnx(m, parameters, { header }), inputTensor(m, values, 64));
    const standardised = real.map((value, i) => (i % 2 === 0 ? (value - 447_000) / 154_000 : (value + 3) / 0.25));
    expect(largest(exact, standardised)).toBeLessThan(0.01);
    expect(() => exportOnnx(m, parameters, { header: headerOf(number('price', 0, 1)) })).toThrow(
      /^EXPORT_HEADER.*a label of 2 numbers, got 1/,
    );
  });

  it('comes back by import as the same layers and weights', () => {
    const m = nets['a convolution net with every map op']!();
    const parameters = lively(m);
    const model = importOnnx(exportOnnx(m, parameters), { a: 10 });
    expect(model.layers.map(({ op }) => op)).toEqual(m.layers.map(({ op }) => op).filter((op) => op !== 'dropout'));
    const { tensors } = quantise(model.parameters, { fractionOf: () => 28, wint: 3 });
    tensors.forEach(({ values }, i) => {
      // The first layer has the input's 2^-8 in its weights; float32 has 24 bits.
      const factor = i === 0 ? 256n : 1n;
      values.forEach((value, k) =>
        expect(Math.abs(Number(value * factor - parameters[i]!.values[k]!))).toBeLessThanOrEqual(i === 0 ? 256 : 16),
      );
    });
  });

  it('is known by the place of its ends: a Clip to 16 bits within a net stays unknown', () => {
    const file = (isWithin: boolean): Uint8Array =>
      handMade(['n', 4], (graph, x) => {
        const dense = (y: string): string => graph.node('MatMul', [y, graph.float32([4, 4], new Float32Array(16))]);
        const clip = (y: string): string => graph.node('Clip', [y, graph.number(-8), graph.number(8 - 2 ** -12)]);
        const first = dense(clip(x));
        return clip(dense(isWithin ? clip(first) : first));
      });
    const { layers, messages } = importOnnx(file(false));
    expect(layers.map(({ op }) => op)).toEqual(['dense', 'dense']);
    expect(messages).toEqual([expect.stringMatching(/^a Clip from -8 to 7\.999755859375 at an end of the file/)]);
    expect(() => importOnnx(file(true))).toThrow(/^ONNX_OP_UNSUPPORTED.*a minimum other than 0/);
  });

  it('refuses a header of other features', () => {
    const m = manifestOf({ shape: [4], dtype: 'int16', frac: 12 }, [layer('dense', { out: 3 })]);
    const header = parseDataHeader({
      ...{ layout: 2, features: { dtype: 'int16', shape: [1], frac: 12 } },
      label: { kind: 'class', classes: 3, columns: [] },
      columns: [{ kind: 'number', name: 'x', center: 0, scale: 1 }],
      ...{ split: { train: 8, validation: 2 }, tokenizer: null },
    });
    expect(() => exportOnnx(m, lively(m), { header })).toThrow(/^EXPORT_HEADER.*4 features, got 1 columns/);
  });
});

describe('the exported safetensors', () => {
  const m = nets['a transformer']!();
  const parameters = lively(m);
  const tensors = readSafetensors(exportSafetensors(m, parameters));

  it('have the exact masters, from which nothing is lost', () => {
    expect(exactParameters(m, tensors)).toEqual(parameters);
    expect(
      exactParameters(
        m,
        tensors.filter(({ name }) => name !== 'veritrain.exact'),
      ),
    ).toBeUndefined();
    const other = manifestOf({ shape: [6], dtype: 'int16', frac: 10 }, [layer('dense', { out: 4 })]);
    expect(() => exactParameters(other, tensors)).toThrow(/^SAFETENSORS_SHAPE/);
  });

  it('have real tensors that are parameters of the same net', () => {
    const real = mappedParameters(tensors, parameterShapes(m), undefined);
    const { tensors: again } = quantise(real, { fractionOf: () => 28, wint: 3 });
    again.forEach(({ values }, i) =>
      values.forEach((value, k) => expect(Math.abs(Number(value - parameters[i]!.values[k]!))).toBeLessThanOrEqual(32)),
    );
  });
});

describe('an imported file in integers', () => {
  /** A manifest around the layers, with the integer bits that their weights need. */
  function manifestFor(model: ImportedModel, wint: ReadonlyMap<string, number>): NetManifest {
    const layers = model.layers.map((one, i) => ({ ...one, ...(wint.has(`n${i}`) && { wint: wint.get(`n${i}`) }) }));
    const { shape } = model.input;
    const input = model.isTokens ? { shape, tokens: true } : { shape, dtype: 'int16', frac: 8 };
    return manifestOf(input, layers, { labelShape: model.output.shape.slice(0, -1) });
  }

  it.each(exportedFiles)('%s gives what onnxruntime gives, within the rounding of its edges', async (name) => {
    const model = importOnnx(exportedFile(name), { a: 10 });
    const { tensors, wint } = quantise(model.parameters, { fractionOf: () => 28, wint: 3 });
    const m = manifestFor(model, wint);
    const session = await InferenceSession.create(exportedFile(name));
    const draw = drawn(9);
    const size = model.input.shape.reduce((product, side) => product * side, 1);
    const Integers = model.isTokens ? Int32Array : Int16Array;
    const result = await importCheck(model, {
      batches: Array.from({ length: 16 }, () => ({
        count: 1,
        features: Int32Array.from({ length: size }, () => (model.isTokens ? draw(12) : draw(512) - 256)),
      })),
      answer: 'numbers',
      fraction: model.isTokens ? 0 : 8,
      async file(input, dims) {
        const integers = () =>
          name.startsWith('keras')
            ? new Tensor('int32', Int32Array.from(input), dims)
            : new Tensor('int64', BigInt64Array.from(input, BigInt), dims);
        const fed = model.isTokens ? integers() : new Tensor('float32', Float32Array.from(input), dims);
        return (await session.run({ [model.input.name]: fed }))[model.output.name]!.data as Float32Array;
      },
      net: ({ features: record }) => exactOutputs(m, tensors, Integers.from(record), 1),
    });
    await session.release();
    expect(result.records).toBe(16);
    expect(result.largestDifference).toBeLessThan(0.02 * (1 + result.largestOutput));
  });
});
