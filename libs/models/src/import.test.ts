import { describe, expect, it } from 'vitest';
import { Rejection } from '#attestation/base';
import { importCheck, importOnnx, quantise, UnsupportedModel, type ImportedModel } from '#libs/models';
import { InferenceSession, Tensor } from '#libs/onnx';
import { floatNet } from '#test/float-net';
import { exportedFile, exportedFiles, handMade, tensorFields, type OnnxFile } from '#test/onnx-files';

/** Draws numbers below `below`: the same in every run. */
function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function fileRun(session: InferenceSession, model: ImportedModel, isInt32: boolean) {
  return async (input: Float64Array, dims: readonly number[]): Promise<Float32Array> => {
    const integers = (): Tensor =>
      isInt32
        ? new Tensor('int32', Int32Array.from(input), dims)
        : new Tensor('int64', BigInt64Array.from(input, BigInt), dims);
    const fed = model.isTokens ? integers() : new Tensor('float32', Float32Array.from(input), dims);
    const outputs = await session.run({ [model.input.name]: fed });
    return outputs[model.output.name]!.data as Float32Array;
  };
}

/** Largest difference between onnxruntime on the file and the layers in real numbers, over 16 records. */
async function difference(bytes: Uint8Array, model: ImportedModel): Promise<number> {
  const session = await InferenceSession.create(bytes);
  const draw = drawn(20_261_124);
  const size = model.input.shape.reduce((product, side) => product * side, 1);
  const isInt32 = model.producer === 'tf2onnx';
  const { largestDifference, largestOutput } = await importCheck(model, {
    batches: Array.from({ length: 16 }, () => ({
      count: 1,
      features: Int32Array.from({ length: size }, () => (model.isTokens ? draw(12) : draw(512) - 256)),
    })),
    answer: 'numbers',
    fraction: model.isTokens ? 0 : 8,
    file: fileRun(session, model, isInt32),
    net: async ({ features }) =>
      floatNet(
        model,
        Float64Array.from(features, (value) => (model.isTokens ? value : value / 256)),
      ),
  });
  expect(largestOutput).toBeGreaterThan(0.01);
  return largestDifference;
}

const opsOf = ({ layers }: ImportedModel): string => layers.map(({ op }) => op).join(' ');

const attended = 'layernorm dense dense dense attention dense add layernorm dense gelu dense add';

/** The layers that each file has. */
const layersOf: Readonly<Record<string, string>> = {
  'keras-cnn-17.onnx': 'conv2d relu maxpool conv2d tanh flatten dense relu dense',
  'keras-gpt-17.onnx': `embedding position ${attended} dense`,
  'keras-mlp-13.onnx': 'flatten dense relu dense gelu dense silu dense',
  'keras-pooled-13.onnx': `embedding position ${attended} meanpool dense`,
  'keras-residual-17.onnx': 'conv2d silu conv2d add avgpool avgpool flatten dense',
  'torch-cnn-dynamo18.onnx': 'conv2d relu maxpool conv2d relu flatten dense relu dense',
  'torch-cnn-ts17.onnx': 'conv2d relu maxpool conv2d relu flatten dense relu dense',
  'torch-encoder-dynamo18.onnx': `embedding position ${attended} meanpool dense`,
  'torch-encoder-ts17.onnx': `embedding position ${attended} meanpool dense`,
  'torch-gpt-fused-dynamo18.onnx': `embedding position ${attended} layernorm dense`,
  'torch-gpt-fused-ts17.onnx': `embedding position ${attended} layernorm dense`,
  'torch-gpt-manual-dynamo20.onnx': `embedding position ${attended} layernorm dense`,
  'torch-gpt-manual-ts13.onnx': `embedding position ${attended} layernorm dense`,
  'torch-mha-dynamo18.onnx': 'dense dense dense dense attention dense add rmsnorm meanpool dense',
  'torch-mlp-dynamo20.onnx': 'flatten dense sigmoid dense gelu dense',
  'torch-mlp-ts13.onnx': 'flatten dense sigmoid dense gelu dense',
  'torch-residual-dynamo20.onnx': 'conv2d silu conv2d tanh conv2d add avgpool avgpool flatten dense',
  'torch-residual-ts13.onnx': 'conv2d silu conv2d tanh conv2d add avgpool avgpool flatten dense',
  'torch-rms-dynamo18.onnx': `embedding position ${attended} layernorm dense`.replaceAll('layernorm', 'rmsnorm'),
};

describe('files that PyTorch and Keras exported', () => {
  it('are all listed', () => {
    expect(exportedFiles).toEqual(Object.keys(layersOf));
  });

  it.each(exportedFiles)('%s becomes layers that give what onnxruntime gives', async (name) => {
    const bytes = exportedFile(name);
    const model = importOnnx(bytes);
    expect(opsOf(model)).toBe(layersOf[name]);
    expect(await difference(bytes, model)).toBeLessThan(3e-5);
  });

  it('say which part the loss does, and that it is left out', () => {
    expect(importOnnx(exportedFile('torch-mlp-ts13.onnx'))).toMatchObject({
      end: 'Softmax',
      messages: ['Softmax "/7/Softmax" at the end is left out: the loss softmax-ce has it'],
    });
    expect(importOnnx(exportedFile('keras-residual-17.onnx')).end).toBe('Sigmoid');
    expect(importOnnx(exportedFile('torch-cnn-ts17.onnx'))).toMatchObject({ messages: [] });
  });

  it('know causal attention from the other', () => {
    const causal = (name: string): unknown[] =>
      importOnnx(exportedFile(name)).layers.flatMap(({ op, causal: is }) => (op === 'attention' ? [is] : []));
    expect(causal('torch-gpt-fused-ts17.onnx')).toEqual([true]);
    expect(causal('keras-gpt-17.onnx')).toEqual([true]);
    expect(causal('torch-encoder-ts17.onnx')).toEqual([false]);
  });

  it('refuses a shape that is right in a batch of 2 alone', () => {
    const bytes = Buffer.from(exportedFile('torch-encoder-ts17.onnx'));
    const inputOf = (count: number): Buffer => {
      const name = `/enc/layers.0/self_attn/Unsqueeze_${count}_output_0`;
      return Buffer.concat([Buffer.of(0x0a, name.length), Buffer.from(name)]);
    };
    const [places, d] = [inputOf(7), inputOf(8)];
    const at = bytes.indexOf(Buffer.concat([places, d]));
    expect(at).toBeGreaterThan(0);
    bytes.set(Buffer.concat([d, places]), at);
    expect(() => importOnnx(bytes)).toThrow(UnsupportedModel);
  });

  it('would be found to differ if a weight were another', async () => {
    const bytes = exportedFile('torch-cnn-ts17.onnx');
    const model = importOnnx(bytes);
    const parameters = model.parameters.map((parameter, i) =>
      i === 0
        ? { ...parameter, values: parameter.values.map((value, k) => (k === 3 ? value + 0.5 : value)) }
        : parameter,
    );
    expect(await difference(bytes, { ...model, parameters })).toBeGreaterThan(1e-3);
  });
});

const reals = (size: number, seed = 5): Float32Array => {
  const draw = drawn(seed);
  return Float32Array.from({ length: size }, () => draw(1_000) / 500 - 1);
};

describe('files written by hand', () => {
  const image = (build: (graph: OnnxFile, x: string) => string): Uint8Array => handMade(['n', 3, 9, 9], build);

  it.each([
    [
      'a convolution with uneven SAME padding and steps',
      image((g, x) =>
        g.node('Conv', [x, g.float32([4, 3, 4, 4], reals(192))], { strides: [2, 3], auto_pad: 'SAME_UPPER' }),
      ),
    ],
    [
      'a batch norm behind an activation, folded into the convolution after it',
      image((g, x) => {
        const channel = (seed: number): string => g.float32([3], reals(3, seed).map(Math.abs));
        const normed = g.node('BatchNormalization', [
          g.node('Tanh', [x]),
          channel(1),
          channel(2),
          channel(3),
          channel(4),
        ]);
        return g.node('Conv', [normed, g.float32([2, 3, 3, 3], reals(54))]);
      }),
    ],
    [
      'a Gemm with alpha, beta and a right side as it is',
      handMade(['n', 5], (g, x) =>
        g.node('Gemm', [x, g.float32([5, 4], reals(20)), g.float32([1, 4], reals(4))], {
          alpha: { float: 0.5 },
          beta: { float: 2 },
        }),
      ),
    ],
    [
      'an image channels first, flattened into a dense layer',
      image((g, x) => {
        const conv = g.node('Conv', [x, g.float32([2, 3, 3, 3], reals(54))]);
        return g.node('Gemm', [g.node('Flatten', [conv]), g.float32([98, 3], reals(294))]);
      }),
    ],
    [
      'a fixed batch and a Clip from 0',
      handMade([2, 6], (g, x) => g.node('Clip', [g.node('MatMul', [x, g.float32([6, 5], reals(30))]), g.number(0)])),
    ],
    [
      'a sum behind a product with two readers',
      handMade(['n', 4, 6], (g, x) => {
        const y = g.node('Add', [g.node('MatMul', [x, g.float32([6, 6], reals(36))]), g.float32([6], reals(6))]);
        return g.node('Add', [y, g.node('Relu', [y])]);
      }),
    ],
    [
      'positions added to a projection',
      handMade(['n', 4, 6], (g, x) =>
        g.node('Add', [g.node('MatMul', [x, g.float32([6, 5], reals(30))]), g.float32([4, 5], reals(20))]),
      ),
    ],
  ])('%s', async (_, bytes) => {
    expect(await difference(bytes, importOnnx(bytes))).toBeLessThan(2e-5);
  });

  it('a Clip to a power of two, which ends one unit below it', async () => {
    const bytes = handMade(['n', 6], (g, x) =>
      g.node('Clip', [g.node('MatMul', [x, g.float32([6, 5], reals(30))]), g.number(0), g.number(0.5)]),
    );
    const model = importOnnx(bytes);
    expect(model.layers[1]).toEqual({ op: 'relu', abits: 7 });
    expect(await difference(bytes, model)).toBeCloseTo(2 ** -8, 6);
    expect(importOnnx(bytes, { a: 10 }).layers[1]).toEqual({ op: 'relu', abits: 9 });
  });

  it.each([
    ['as one node', (g: OnnxFile, x: string) => g.node('Gelu', [x], { approximate: 'tanh' }), 20],
    [
      'spelled out, as GPT-2 has it',
      (g: OnnxFile, x: string) => {
        const cube = g.node('Mul', [g.node('Pow', [x, g.number(3)]), g.number(0.044715)]);
        const inner = g.node('Mul', [g.node('Add', [x, cube]), g.number(Math.sqrt(2 / Math.PI))]);
        return g.node('Mul', [
          g.node('Mul', [x, g.number(0.5)]),
          g.node('Add', [g.node('Tanh', [inner]), g.number(1)]),
        ]);
      },
      13,
    ],
  ])('the tanh form of GELU as the erf form, and says so: %s', async (_, gelu, opset) => {
    const bytes = handMade(
      ['n', 6],
      (g, x) => gelu(g, gelu(g, g.node('MatMul', [x, g.float32([6, 5], reals(30))]))),
      opset,
    );
    const model = importOnnx(bytes);
    expect(opsOf(model)).toBe('dense gelu gelu');
    expect(model.messages).toEqual(['Gelu in its tanh form becomes the erf form: they differ by less than 0.0005']);
    const found = await difference(bytes, model);
    expect(found).toBeGreaterThan(1e-6);
    expect(found).toBeLessThan(1e-3);
  });

  it('may name a free size, which must be given', async () => {
    const bytes = handMade(['n', 'length', 6], (g, x) => g.node('MatMul', [x, g.float32([6, 5], reals(30))]));
    expect(() => importOnnx(bytes)).toThrow(/ONNX_INPUT.*free size "length"/);
    const model = importOnnx(bytes, { sizes: { length: 4 } });
    expect(model.input.shape).toEqual([4, 6]);
    expect(await difference(bytes, model)).toBeLessThan(2e-5);
  });
});

describe('what has no layer is refused', () => {
  const refusal = (bytes: Uint8Array): UnsupportedModel => {
    try {
      importOnnx(bytes);
    } catch (error) {
      if (error instanceof UnsupportedModel) return error;
      throw error;
    }
    throw new Error('nothing was refused');
  };

  it('all at once, each with its op and what to use instead', () => {
    const bytes = handMade(['n', 3, 8, 8], (g, x) => {
      const grouped = g.node('Conv', [x, g.float32([3, 1, 3, 3], reals(27))], { group: 3 });
      const other = g.node('LeakyRelu', [x]);
      const up = g.node('ConvTranspose', [g.node('Tanh', [x]), g.float32([3, 3, 2, 2], reals(36))]);
      return g.node('Concat', [grouped, other, up], { axis: 1 });
    });
    const { code, nodes } = refusal(bytes);
    expect(code).toBe('ONNX_OP_UNSUPPORTED');
    expect(nodes.map(({ op, reason, instead }) => [op, reason, instead])).toEqual([
      ['Conv', '3 groups', 'a convolution of one group'],
      ['LeakyRelu', 'an activation that is not among the layers', 'Relu, Gelu (erf), x·Sigmoid(x), Tanh or Sigmoid'],
      ['ConvTranspose', 'a layer that enlarges maps', 'upsample outside, or a dense layer'],
    ]);
    expect(JSON.parse(JSON.stringify(refusal(bytes)))).toMatchObject({
      family: 'rejection',
      nodes: [{ op: 'Conv' }, {}, {}],
    });
  });

  it.each<[string, (g: OnnxFile, x: string) => string, RegExp]>([
    ['a Clip to 6', (g, x) => g.node('Clip', [x, g.number(0), g.number(6)]), /a maximum of 6/],
    [
      'a pool that overlaps',
      (g, x) => g.node('MaxPool', [x], { kernel_shape: [3, 3], strides: [2, 2] }),
      /in steps of 2x2/,
    ],
    [
      'dilations',
      (g, x) => g.node('Conv', [x, g.float32([1, 3, 3, 3], reals(27))], { dilations: [2, 2] }),
      /dilations/,
    ],
    ['a softmax within', (g, x) => g.node('Relu', [g.node('Softmax', [x])]), /a softmax within/],
    ['another GELU', (g, x) => g.node('Gelu', [x], { approximate: 'sigmoid' }), /a Gelu "sigmoid"/],
    ['attention as one node', (g, x) => g.node('Attention', [x, x, x]), /opset_version up to 22/],
    ['an unknown node', (g, x) => g.node('Quux', [x]), /Quux "node t0": no layer/],
    ['a product of edges', (g, x) => g.node('Mul', [x, g.node('Tanh', [x])]), /Mul/],
    ['records that are mixed', (g, x) => g.node('Reshape', [x, g.int64(1, -1)]), /./],
  ])('%s', (_, build, message) => {
    expect(() => importOnnx(handMade(['n', 3, 8, 8], build))).toThrow(message);
    expect(() => importOnnx(handMade(['n', 3, 8, 8], build))).toThrow(Rejection);
  });

  it('a tensor in another file, which is never looked for', () => {
    const { type, elsewhere } = tensorFields;
    const bytes = handMade(['n', 2], (g, x) =>
      g.node('MatMul', [x, g.tensor([2, 2], type(1), elsewhere('/etc/hostname'))]),
    );
    expect(() => importOnnx(bytes)).toThrow(/^ONNX_EXTERNAL_DATA/);
  });

  it.each([12, 24])('opset %d', (opset) => {
    expect(() => importOnnx(handMade(['n', 2], (g, x) => g.node('Relu', [x]), opset))).toThrow(/^ONNX_OPSET/);
  });

  it('an attribute whose value is of another kind than its type', () => {
    const bytes = Buffer.from(exportedFile('torch-mlp-ts13.onnx'));
    // The 0.5 of GELU: data_type float, raw_data 0.5, and then AttributeProto.type TENSOR.
    const half = Buffer.from('10014a040000003fa00104', 'hex');
    const at = bytes.indexOf(half);
    expect(at).toBeGreaterThan(0);
    bytes[at + half.length - 1] = 1;
    expect(() => importOnnx(bytes)).toThrow(/^ONNX_MALFORMED.*attribute "value".*type 1.*type 4/);
  });

  it('two outputs or inputs, and an output that is constant', () => {
    expect(() => importOnnx(handMade(['n', 2], (g) => g.number(2)))).toThrow(/^ONNX_OUTPUT.*a constant/);
    expect(() => importOnnx(new Uint8Array(0))).toThrow(/^ONNX_MALFORMED/);
  });
});

describe('weights are read', () => {
  const values = [0.5, -1.25, 3, 0, 2 ** -10, -7.5];
  const { type, raw, floats, doubles, int32s } = tensorFields;
  const halves = [0x3800, 0xbd00, 0x4200, 0x8000, 0x1400, 0xc780];
  const brains = [0x3f00, 0xbfa0, 0x4040, 0x8000, 0x3a80, 0xc0f0];

  it.each<[string, readonly Uint8Array[]]>([
    ['raw float32', [type(1), raw(Float32Array.from(values).buffer)]],
    ['float_data', [type(1), floats(Float32Array.from(values))]],
    ['raw double', [type(11), raw(Float64Array.from(values).buffer)]],
    ['double_data', [type(11), doubles(Float64Array.from(values))]],
    ['raw float16', [type(10), raw(Uint16Array.from(halves).buffer)]],
    ['float16 in int32_data', [type(10), int32s(halves)]],
    ['raw bfloat16', [type(16), raw(Uint16Array.from(brains).buffer)]],
  ])('from %s', (_, fields) => {
    const model = importOnnx(handMade(['n', 3], (g, x) => g.node('MatMul', [x, g.tensor([3, 2], ...fields)])));
    expect(
      model.parameters.map(({ name, dims, values: found }) => [name, dims, Array.from(found, (value) => value + 0)]),
    ).toEqual([['n0.W', [3, 2], values]]);
  });

  it('only when there are as many as the shape says', () => {
    const short = (fields: readonly Uint8Array[]): Uint8Array =>
      handMade(['n', 3], (g, x) => g.node('MatMul', [x, g.tensor([3, 3], ...fields)]));
    expect(() => importOnnx(short([type(1), raw(Float32Array.from(values).buffer)]))).toThrow(/^ONNX_SHAPE/);
    expect(() => importOnnx(short([type(1), floats(Float32Array.from(values))]))).toThrow(/^ONNX_SHAPE/);
    expect(() => importOnnx(short([type(8), raw(new ArrayBuffer(9))]))).toThrow(/^ONNX_TYPE/);
  });
});

function detailOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return (error as Rejection).detail;
  }
}

describe('quantise', () => {
  const parameter = (...values: number[]) => ({
    name: 'n0.W',
    layer: 'n0',
    kind: 'W' as const,
    dims: [values.length],
    values: Float64Array.from(values),
  });
  const options = { fractionOf: () => 28, wint: 3 };

  it('rounds halves up and raises the integer bits of a layer', () => {
    const { tensors, wint } = quantise([parameter(2 ** -29, -(2 ** -29), 1, -7.99)], options);
    expect(Array.from(tensors[0]!.values)).toEqual([1n, 0n, 2n ** 28n, BigInt(Math.floor(-7.99 * 2 ** 28 + 0.5))]);
    expect(wint.size).toBe(0);
    expect(quantise([parameter(8)], options).wint).toEqual(new Map([['n0', 4]]));
    expect(quantise([parameter(-255.5)], options).wint).toEqual(new Map([['n0', 8]]));
  });

  it('refuses what is too large or no number', () => {
    expect(() => quantise([parameter(256)], options)).toThrow(/^MODEL_WEIGHT_RANGE.*n0\.W/);
    const large = { ...parameter(1, -3, 2, 7, -1_000, 5), dims: [3, 2] };
    const advice = (layer: string, factor: number): string => `divide ${layer} by ${factor}`;
    expect(() => quantise([large], { ...options, advice })).toThrow(/got -1000 at \[2,0\]/);
    expect(detailOf(() => quantise([large], { ...options, advice }))).toMatchObject({ action: 'divide n0 by 4' });
    expect(() => quantise([parameter(1e300)], options)).toThrow(/^MODEL_WEIGHT_RANGE/);
    expect(() => quantise([parameter(NaN)], options)).toThrow(/^MODEL_WEIGHT_NUMBER/);
    expect(() => quantise([parameter(-Infinity)], options)).toThrow(/^MODEL_WEIGHT_NUMBER/);
  });
});
