/**
 * The training graph that watches its guards in the cheapest way (libs/step/SPEC.md §10.1). In place of a magnitude per
 * tensor and step it returns few numbers; from them `quickVerdict` says whether the weights are sure to be those of
 * `buildTrainGraph`. Where it cannot say so, that graph tells.
 */
import { checkBounds } from './bounds.js';
import type { GuardSet } from './guard-set.js';
import { lossOf } from './losses/index.js';
import { classCount, featureCount, type Manifest } from './manifest.js';
import { encodeModel, GraphBuilder, type ValueInfo } from './onnx/graph-builder.js';
import { activation, linear, type ByKind } from './ops/index.js';
import { layerScales, stepSizeMax, type LayerScale } from './scale.js';
import { byLayer, tensorShapes } from './weights.js';

/**
 * Inputs, and the outputs `W1.next` … and `error`, as `buildTrainGraph` has them, for steps of the job alone: null steps
 * have another step size than the schedule. Per step it returns `high.Y1` and `low.Y1` …, the largest and the least
 * pre-activation of each layer, float64 [T]; `sum.G1` …, the column sums of |G_l| before the mask, float64 [T, 1, n_l];
 * and `max.W2` …, the largest magnitude of the weights of each layer but the first, float64 [T]. Of the tensors of
 * `boundedTensors` it returns `most.W1` …, the largest magnitude after the last step.
 *
 * @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4
 */
export function buildQuickGraph(m: Manifest, set: GuardSet): Uint8Array {
  checkBounds(m, set);
  const graph = new GraphBuilder('o');
  const [shapes, scales] = [tensorShapes(m), layerScales(m)];
  const names = byLayer(
    m,
    shapes.map(({ name }) => name),
  );
  const { body, reports } = stepBody(m);
  const rows = scales.map((scale, i) => {
    const addend = linear.emitAddend(graph, scale, names[i]!.bias);
    return graph.node('Unsqueeze', [addend, graph.axes(0)]);
  });
  graph.nodes(
    'Scan',
    [...names.flatMap(({ weight }, i) => [weight, rows[i]!]), 'blocks', 'm'],
    { body: { graph: body }, num_scan_inputs: { int: 2 } },
    [...names.flatMap(({ weight, bias }) => [`${weight}.next`, `${bias}.row`]), ...reports.map(({ name }) => name)],
  );
  scales.forEach((scale, i) => {
    const { bias } = names[i]!;
    linear.emitBias(graph, scale, graph.node('Squeeze', [`${bias}.row`, graph.axes(0)]), `${bias}.next`);
  });
  const bounded = boundedTensors(m);
  for (const name of bounded) emitLargest(graph, `${name}.next`, `most.${name}`);
  const weights = (suffix: string) =>
    shapes.map(({ name, dims }): ValueInfo => ({ name: `${name}${suffix}`, type: 'float64', dims }));
  const inputs: ValueInfo[] = [
    { name: 'features', type: 'uint8', dims: ['blocks_count', m.batch, featureCount(m)] },
    { name: 'labels', type: 'int32', dims: ['blocks_count', m.batch] },
    ...weights(''),
    { name: 'blocks', type: 'int32', dims: ['steps'] },
    { name: 'm', type: 'float64', dims: ['steps'] },
  ];
  const outputs: ValueInfo[] = [
    ...weights('.next'),
    ...bounded.map((name): ValueInfo => ({ name: `most.${name}`, type: 'float64', dims: [] })),
    ...reports.map((info): ValueInfo => ({ ...info, dims: ['steps', ...info.dims] })),
  ];
  return encodeModel(graph.encode('fxt_quick', inputs, outputs));
}

/**
 * Tensors of which a call measures the end alone: the weights of the first layer, the largest tensor as a rule, and
 * biases, whose moves are small.
 */
export function boundedTensors(m: Manifest): readonly string[] {
  return tensorShapes(m)
    .filter(({ role: { layer, kind } }) => layer === 1 || kind === 'bias')
    .map(({ name }) => name);
}

/** @returns name of max |x|, a float64 scalar */
function emitLargest(graph: GraphBuilder, x: string, output?: string): string {
  return graph.node('ReduceMax', [graph.node('Abs', [x])], { keepdims: { int: 0 } }, output);
}

/** What one step returns beside its weights: names in the body, and outputs of the whole. */
class Reports {
  readonly list: { readonly inner: string; readonly info: ValueInfo }[] = [];

  add(inner: string, name: string, dims: readonly number[]): void {
    this.list.push({ inner, info: { name, type: 'float64', dims } });
  }
}

interface Layer {
  readonly scale: LayerScale;
  readonly parameters: ByKind<string>;
  readonly A: { readonly exact: string; readonly single?: string };
  readonly Y: string;
}

function stepBody(m: Manifest): { body: Uint8Array; reports: readonly ValueInfo[] } {
  const graph = new GraphBuilder('s');
  const reports = new Reports();
  const layers = emitForward(graph, m, reports);
  let G = emitLossError(graph, m, layers.at(-1)!.Y, reports);
  const next: string[] = [];
  for (let l = layers.length; l >= 1; l--) {
    const { scale, parameters, A } = layers[l - 1]!;
    const scaled = stepSizeMax(m) === 1 ? G : graph.node('Mul', [G, 'step.m']);
    const { weight, bias } = linear.emitQuickUpdate(graph, scale, A, { name: scaled, rows: m.batch }, parameters);
    next.unshift(weight, bias);
    if (l > 1) reports.add(emitLargest(graph, weight), `max.W${l}`, []);
    if (l === 1) break;
    const raw = linear.emitBackward(graph, scale, G, parameters);
    emitColumnSums(graph, m, raw, layers[l - 2]!.scale, reports);
    G = activation.emitQuickMasked(graph, layers[l - 2]!.Y, raw);
  }
  const states = layers.flatMap(({ scale: { inputs, outputs }, parameters: { weight, bias } }): ValueInfo[] => [
    { name: weight, type: 'float64', dims: [inputs, outputs] },
    { name: bias, type: 'float64', dims: [1, outputs] },
  ]);
  const inputs: ValueInfo[] = [
    ...states,
    { name: 'step.block', type: 'int32', dims: [] },
    { name: 'step.m', type: 'float64', dims: [] },
  ];
  const outputs = [
    ...states.map((state, i) => ({ ...state, name: next[i]! })),
    ...reports.list.map(({ inner, info }) => ({ ...info, name: inner })),
  ];
  return { body: graph.encode('fxt_quick_step', inputs, outputs), reports: reports.list.map(({ info }) => info) };
}

function emitForward(graph: GraphBuilder, m: Manifest, reports: Reports): Layer[] {
  const parametersOf = byLayer(
    m,
    tensorShapes(m).map(({ name }) => `step.${name}`),
  );
  const bytes = graph.node('Gather', ['features', 'step.block']);
  const cast = (code: number) => graph.node('Cast', [bytes], { to: { int: code } });
  let A: Layer['A'] = { exact: cast(11), single: cast(1) };
  return layerScales(m).map((scale) => {
    const parameters = parametersOf[scale.layer - 1]!;
    const Y = linear.emitForward(graph, scale, A.exact, parameters.weight, parameters.bias);
    for (const [op, end] of [
      ['ReduceMax', 'high'],
      ['ReduceMin', 'low'],
    ] as const) {
      reports.add(graph.node(op, [Y], { keepdims: { int: 0 } }), `${end}.Y${scale.layer}`, []);
    }
    const layer = { scale, parameters, A, Y };
    if (!scale.isLast) A = { exact: activation.emitQuickForward(graph, Y) };
    return layer;
  });
}

/** Outputs beyond their range are clipped, so that a table is never read outside; such a call is not sure. */
function emitLossError(graph: GraphBuilder, m: Manifest, Y: string, reports: Reports): string {
  const labels = graph.node('Gather', ['labels', 'step.block']);
  const top = 2 ** (m.ybits - 1);
  const G = lossOf(m).emit(graph, graph.node('Clip', [Y, graph.scalar(-top), graph.scalar(top - 1)]), labels);
  reports.add(G, 'error', [m.batch, classCount(m)]);
  emitColumnSums(graph, m, G, layerScales(m).at(-1)!, reports);
  return G;
}

function emitColumnSums(graph: GraphBuilder, m: Manifest, G: string, scale: LayerScale, reports: Reports): void {
  const ones = graph.float64([1, m.batch], new Float64Array(m.batch).fill(1));
  reports.add(graph.node('Gemm', [ones, graph.node('Abs', [G])]), `sum.G${scale.layer}`, [1, scale.outputs]);
}
