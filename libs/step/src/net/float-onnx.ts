/** The trained net for its client: an ordinary float32 ONNX network (libs/step/SPEC.md §27). */
import { encodeModel, GraphBuilder, type ElementType } from '../onnx/graph-builder.js';
import { FloatEmitter } from './float-emitter.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';

/** What a client's real numbers are taken through, by feature: `(x − center)/scale`. */
export interface RealColumns {
  readonly center: Float32Array;
  readonly scale: Float32Array;
}

/**
 * Input `features` [rows, …]: integers as a record has them, tokens as int32, or with `columns` float32 before they are
 * centered and scaled. Output `output`: float32 [rows, …].
 *
 * @param real values of a parameter, `W·2^-w`
 * @returns bytes of an ONNX model, opset 17
 */
export function netFloatOnnx(
  m: NetManifest,
  real: (name: string) => Float32Array,
  columns: RealColumns | undefined,
): Uint8Array {
  const net = netOf(m);
  const graph = new GraphBuilder('f');
  const emitter = new FloatEmitter(graph, real);
  const names = new Map([['input', inputOf(emitter, m, columns)]]);
  for (const layer of net.layers) {
    const inputs = layer.inputs.map(({ id }) => names.get(id)!);
    names.set(layer.id, netOps[layer.op]!.emitFloat(emitter, layer, inputs));
  }
  graph.node('Identity', [names.get(net.output.id)!], {}, 'output');
  const isReal = columns !== undefined;
  const type: ElementType = isReal ? 'float32' : net.input.element === 'token' ? 'int32' : net.input.element;
  return encodeModel(
    graph.encode(
      'fxt2_inference',
      [{ name: 'features', type, dims: ['rows', ...net.input.shape] }],
      [{ name: 'output', type: 'float32', dims: ['rows', ...net.output.shape] }],
    ),
  );
}

function inputOf(f: FloatEmitter, { input }: NetManifest, columns: RealColumns | undefined): string {
  if ('tokens' in input) return 'features';
  if (columns === undefined) return f.node('Mul', [f.toFloat('features'), f.scalar(2 ** -input.frac)]);
  const centered = f.node('Sub', ['features', f.graph.float32(input.shape, columns.center)]);
  return f.node('Div', [centered, f.graph.float32(input.shape, columns.scale)]);
}
