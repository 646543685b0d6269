/**
 * The trained model for its client: an ordinary float32 ONNX network with dequantised weights (libs/step/SPEC.md §18).
 */
import { classCount, featureCount, type Manifest } from './manifest.js';
import { encodeModel, GraphBuilder } from './onnx/graph-builder.js';
import { activation, linear } from './ops/index.js';
import { layerScales } from './scale.js';
import type { Tensor, Weights } from './tensors.js';
import { byLayer, checkWeights, tensorShapes, type TensorShape } from './weights.js';

/**
 * Input `image`: uint8 [rows, n_0]; output `logits`: float32 [rows, C]. The graph scales bytes by 2^-a_0 (1/256 in all
 * profiles) and clips hidden activations at (2^abits − 1)·2^-a as training does. It does not round activations, so
 * logits may differ from the exact ones by about 2^-a.
 *
 * @returns bytes of an ONNX model, opset 17
 * @throws  Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE
 */
export function floatOnnx(m: Manifest, weights: Weights): Uint8Array {
  checkWeights(m, weights);
  const graph = new GraphBuilder('f');
  const real = ({ dims, fraction }: TensorShape, { values }: Tensor): string =>
    graph.float32(
      dims,
      Float32Array.from(values, (value) => Number(value) * 2 ** -fraction),
    );
  const [shapes, tensors] = [byLayer(m, tensorShapes(m)), byLayer(m, weights)];
  const cast = graph.node('Cast', ['image'], { to: { int: 1 } });
  let x = graph.node('Mul', [cast, graph.scalar(2 ** -m.a[0]!, 'float32')]);
  for (const [i, { isLast, aOut }] of layerScales(m).entries()) {
    const [shape, tensor] = [shapes[i]!, tensors[i]!];
    const parameters = { weight: real(shape.weight, tensor.weight), bias: real(shape.bias, tensor.bias) };
    x = linear.emitFloat(graph, x, parameters, isLast ? 'logits' : undefined);
    if (!isLast) x = activation.emitFloat(graph, x, m.abits, aOut);
  }
  return encodeModel(
    graph.encode(
      'fxt_inference',
      [{ name: 'image', type: 'uint8', dims: ['rows', featureCount(m)] }],
      [{ name: 'logits', type: 'float32', dims: ['rows', classCount(m)] }],
    ),
  );
}
