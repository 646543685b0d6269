/** Forms that exporters write what a layer does in, and what only looks like one. */
import { describe, expect, it } from 'vitest';
import { importOnnx } from '#libs/models';
import { handMade, type OnnxFile } from '#test/onnx-files';

const weights = (rows: number, out: number, factor = 1): Float32Array =>
  Float32Array.from({ length: rows * out }, (_, i) => (factor * (((i * 7) % 11) - 5)) / 8);
const linear = (g: OnnxFile, x: string, rows: number, out: number, factor = 1): string =>
  g.node('MatMul', [x, g.float32([rows, out], weights(rows, out, factor))]);
const imported = (bytes: Uint8Array): string =>
  importOnnx(bytes)
    .layers.map(({ op }) => op)
    .join(' ');

describe('what only looks like a layer near 0 is refused', () => {
  it.each<[string, (g: OnnxFile, y: string) => string, RegExp]>([
    ['Relu up to 20', (g, y) => g.node('Min', [g.node('Relu', [y]), g.number(20)]), /Min/],
    ['ends at ±20', (g, y) => g.node('Min', [g.node('Max', [y, g.number(-20)]), g.number(20)]), /Max/],
    [
      'ends of a multiple',
      (g, y) => g.node('Min', [g.node('Max', [g.node('Mul', [y, g.number(10)]), g.number(-500)]), g.number(500)]),
      /Max/,
    ],
    [
      'steps so small that they look like a norm',
      (g, y) => g.node('Div', [g.node('Floor', [g.node('Mul', [y, g.number(2 ** 24)])]), g.number(2 ** 24)]),
      /Floor/,
    ],
  ])('%s', (_, build, op) => {
    const bytes = handMade(['n', 6], (g, x) => build(g, linear(g, x, 6, 4)));
    expect(() => importOnnx(bytes)).toThrow(op);
  });

  it('a product over the batch', () => {
    expect(() => importOnnx(handMade([6], (g, x) => linear(g, x, 6, 4)))).toThrow(/a product over the batch/);
    const turned = (g: OnnxFile, x: string): string =>
      g.node('Transpose', [linear(g, g.node('Transpose', [x], { perm: [1, 0] }), 3, 3)], { perm: [1, 0] });
    expect(() => importOnnx(handMade(['n', 6], turned))).toThrow(/a product over the batch/);
  });

  it('a softmax over places', () => {
    const turned = (g: OnnxFile, x: string): string =>
      g.node('Softmax', [g.node('Transpose', [linear(g, x, 6, 4)], { perm: [0, 2, 1] })]);
    expect(() => importOnnx(handMade(['n', 5, 6], turned))).toThrow(/a softmax over another axis/);
  });
});

describe('an end that the loss has is known', () => {
  it.each<[string, string, (g: OnnxFile, y: string) => string]>([
    ['as Keras names an output', 'Softmax', (g, y) => g.node('Identity', [g.node('Softmax', [y])])],
    ['as a binary net of PyTorch ends', 'Sigmoid', (g, y) => g.node('Squeeze', [g.node('Sigmoid', [y]), g.int64(1)])],
    ['flat', 'Sigmoid', (g, y) => g.node('Reshape', [g.node('Sigmoid', [y]), g.int64(-1)])],
  ])('%s', (_, end, build) => {
    const model = importOnnx(handMade(['n', 6], (g, x) => build(g, linear(g, x, 6, 1))));
    expect(model.end).toBe(end);
    expect(model.layers.map(({ op }) => op)).toEqual(['dense']);
  });

  it('and a sigmoid within a net is a layer', () => {
    const within = (g: OnnxFile, x: string): string => linear(g, g.node('Sigmoid', [linear(g, x, 6, 3)]), 3, 2);
    expect(imported(handMade(['n', 6], within))).toBe('dense sigmoid dense');
  });
});

it('a padding by nothing, as PyTorch writes it before an average, is nothing', () => {
  const pooled = (side: number) => (g: OnnxFile, x: string) => {
    const padded = g.node('Pad', [x, g.int64(0, 0, 0, side, 0, 0, 0, 0)]);
    return g.node('AveragePool', [padded], { kernel_shape: [2, 2], strides: [2, 2] });
  };
  expect(imported(handMade(['n', 3, 8, 8], pooled(0)))).toBe('avgpool');
  expect(() => importOnnx(handMade(['n', 3, 8, 8], pooled(1)))).toThrow(/pads of the convolution after it/);
});

it('words about an attribute, and outputs that nobody reads, change nothing', () => {
  const gemm = (g: OnnxFile, x: string): string =>
    g.node('Gemm', [x, g.float32([6, 4], weights(6, 4))], { alpha: { float: 2, doc: 'the factor' } });
  expect(imported(handMade(['n', 6], gemm))).toBe('dense');
  const normed = (read: boolean) => (g: OnnxFile, x: string) => {
    const gain = g.float32([4], Float32Array.of(1, 2, 3, 4));
    const y = g.node('LayerNormalization', [linear(g, x, 6, 4), gain], {}, ['mean', 'deviation']);
    return read ? g.node('Add', [y, 'mean']) : y;
  };
  expect(imported(handMade(['n', 6], normed(false)))).toBe('dense layernorm');
  expect(() => importOnnx(handMade(['n', 6], normed(true)))).toThrow(/outputs that no layer has/);
});
