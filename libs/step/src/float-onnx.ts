/**
 * The trained model for its client: an ordinary float32 ONNX network with dequantised weights (libs/step/SPEC.md §18).
 */
import type { Manifest } from './manifest.js';
import { encodeModel, GraphBuilder } from './onnx/graph-builder.js';
import { layerScales } from './scale.js';
import { checkWeights, type Weights } from './weights.js';

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
  const real = (tensor: number, fraction: number) => {
    const { dims, values } = weights[tensor]!;
    return graph.float32(
      dims,
      Float32Array.from(values, (value) => Number(value) * 2 ** -fraction),
    );
  };
  const cast = graph.node('Cast', ['image'], { to: { int: 1 } });
  let x = graph.node('Mul', [cast, graph.scalar(2 ** -m.a[0]!, 'float32')]);
  for (const [index, scale] of layerScales(m).entries()) {
    const inputs = [x, real(2 * index, scale.w), real(2 * index + 1, scale.beta)];
    x = graph.node('Gemm', inputs, {}, scale.isLast ? 'logits' : undefined);
    if (scale.isLast) break;
    const top = (2 ** m.abits - 1) * 2 ** -scale.aOut;
    x = graph.node('Clip', [x, graph.scalar(0, 'float32'), graph.scalar(top, 'float32')]);
  }
  return encodeModel(
    graph.encode(
      'fxt_inference',
      [{ name: 'image', type: 'uint8', dims: ['rows', m.dims[0]!] }],
      [{ name: 'logits', type: 'float32', dims: ['rows', m.dims.at(-1)!] }],
    ),
  );
}
