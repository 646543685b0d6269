/** The trained net for its client: an ordinary float32 ONNX network (libs/step/SPEC.md §27). */
import { encodeModel, GraphBuilder, type ElementType } from '../onnx/graph-builder.js';
import { FloatEmitter } from './float-emitter.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';

/** Between a client's real numbers and a net's, by element: `(x − center)/scale`. */
export interface RealColumns {
  readonly center: Float32Array;
  readonly scale: Float32Array;
}

/** Smallest and largest real number that 16 bits hold at a fraction. */
export function realEnds(fraction: number): readonly [low: number, high: number] {
  return [-(2 ** 15) * 2 ** -fraction, (2 ** 15 - 1) * 2 ** -fraction];
}

/**
 * Input `features` [rows, …]: integers as a record has them, tokens as int32, or with `columns` float32 before they are
 * centered, scaled and set to the nearest of 16 bits. Output `output`: float32 [rows, …], within 16 bits as the net's is;
 * with `label` in the label's own unit, made of what the net answers, `standardised`.
 *
 * @param real values of a parameter, `W·2^-w`
 * @returns bytes of an ONNX model, opset 17
 */
export function netFloatOnnx(
  m: NetManifest,
  real: (name: string) => Float32Array,
  { columns, label }: { readonly columns?: RealColumns; readonly label?: RealColumns } = {},
): Uint8Array {
  const net = netOf(m);
  const graph = new GraphBuilder('f');
  const emitter = new FloatEmitter(graph, real);
  const names = new Map([['input', inputOf(emitter, m, columns)]]);
  for (const layer of net.layers) {
    const inputs = layer.inputs.map(({ id }) => names.get(id)!);
    names.set(layer.id, netOps[layer.op]!.emitFloat(emitter, layer, inputs));
  }
  endWith(emitter, names.get(net.output.id)!, net.output.a, label);
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

function endWith(f: FloatEmitter, answer: string, a: number, label: RealColumns | undefined): void {
  if (label === undefined) return void ended(f, answer, a, 'output');
  const { graph } = f;
  const [scale, center] = [label.scale, label.center].map((values) => graph.float32([values.length], values));
  const standardised = ended(f, answer, a, 'standardised');
  graph.node('Add', [graph.node('Mul', [standardised, scale!]), center!], {}, 'output');
}

function inputOf(f: FloatEmitter, { input }: NetManifest, columns: RealColumns | undefined): string {
  if ('tokens' in input) return 'features';
  if (columns === undefined) return f.node('Mul', [f.toFloat('features'), f.scalar(2 ** -input.frac)]);
  const centered = f.node('Sub', ['features', f.graph.float32(input.shape, columns.center)]);
  const scaled = f.node('Div', [centered, f.graph.float32(input.shape, columns.scale)]);
  // Beside numbers, which 16 bits hold, int32 may hold integers of columns that have no scale.
  return input.dtype === 'int32' ? scaled : ended(f, scaled, input.frac);
}

/** What lies beyond the ends of 16 bits is set to them; what is no number stays none. */
function ended({ graph }: FloatEmitter, x: string, fraction: number, output?: string): string {
  const [low, high] = realEnds(fraction).map((end) => graph.scalar(end, 'float32'));
  return graph.node('Clip', [x, low!, high!], {}, output);
}
