/** The training graph and the evaluation graph in ONNX, emitted from the ops (fixed-point §10). */
import { checkBounds } from './bounds.js';
import type { Manifest } from './manifest.js';
import { encodeModel, GraphBuilder, type ValueInfo } from './onnx/graph-builder.js';
import { emitBackError } from './ops/back.js';
import { emitDense } from './ops/dense.js';
import { emitGuard, emitSignedClip } from './ops/guard.js';
import { emitMseGradient } from './ops/mse.js';
import { emitClippedRelu, emitMasked } from './ops/relu.js';
import { emitSoftmaxGradient } from './ops/softmax-ce.js';
import { emitUpdate } from './ops/update.js';
import { layerScales, type LayerScale } from './scale.js';
import { expTable } from './table.js';
import { tensorShapes } from './weights.js';

export interface GuardOutput {
  /** Output of the graph: max |tensor|, one float64 per step. */
  readonly output: string;
  /** `Y1`, `G1`, `W1`, `b1` … */
  readonly tensor: string;
  readonly magnitudeMax: number;
}

/**
 * Inputs: `features` uint8 [blocks, B, n_0], `labels` int32 [blocks, B], `blocks` int32 [T] and `m` float64 [T] (block
 * and step size of each step), and the float64 weights by tensor name. Outputs: the weights as `W1.next` …, the guards,
 * and `error`, G_L of every step, float64 [T, B, C].
 */
export interface TrainGraph {
  readonly model: Uint8Array;
  /** In the order in which a step computes them. */
  readonly guards: readonly GuardOutput[];
}

/**
 * Inputs: `features` uint8 [rows, n_0] and the float64 weights. Outputs: `prediction` int64 [rows] and the guards of
 * the pre-activations, float64 scalars.
 */
export interface EvaluateGraph {
  readonly model: Uint8Array;
  readonly guards: readonly GuardOutput[];
}

interface Pass {
  readonly scale: LayerScale;
  readonly A: string;
  readonly Y: string;
}

/** @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4 */
export function buildTrainGraph(m: Manifest): TrainGraph {
  checkBounds(m);
  const states = tensorShapes(m).map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const { body, guards } = trainBody(m, states);
  const [n0, C] = [m.dims[0]!, m.dims.at(-1)!];
  const inputs: ValueInfo[] = [
    ...states,
    { name: 'blocks', type: 'int32', dims: ['steps'] },
    { name: 'm', type: 'float64', dims: ['steps'] },
  ];
  const outputs: ValueInfo[] = [
    ...states.map((state) => ({ ...state, name: `${state.name}.next` })),
    ...guards.map(({ output }): ValueInfo => ({ name: output, type: 'float64', dims: ['steps'] })),
    { name: 'error', type: 'float64', dims: ['steps', m.batch, C] },
  ];
  const graph = new GraphBuilder('o');
  graph.nodes(
    'Scan',
    inputs.map(({ name }) => name),
    { body: { graph: body }, num_scan_inputs: { int: 2 } },
    outputs.map(({ name }) => name),
  );
  const data: ValueInfo[] = [
    { name: 'features', type: 'uint8', dims: ['blocks_count', m.batch, n0] },
    { name: 'labels', type: 'int32', dims: ['blocks_count', m.batch] },
  ];
  return { model: encodeModel(graph.encode('fxt_train', [...data, ...inputs], outputs)), guards };
}

/** @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4 */
export function buildEvaluateGraph(m: Manifest): EvaluateGraph {
  checkBounds(m);
  const graph = new GraphBuilder('e');
  const guards: GuardOutput[] = [];
  const input = graph.node('Cast', ['features'], { to: { int: 11 } });
  const passes = emitForward(graph, m, input, guards, '');
  graph.node('ArgMax', [passes.at(-1)!.Y], { axis: { int: 1 }, keepdims: { int: 0 } }, 'prediction');
  const weights = tensorShapes(m).map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const model = graph.encode(
    'fxt_evaluate',
    [{ name: 'features', type: 'uint8', dims: ['rows', m.dims[0]!] }, ...weights],
    [
      { name: 'prediction', type: 'int64', dims: ['rows'] },
      ...guards.map(({ output }): ValueInfo => ({ name: output, type: 'float64', dims: [] })),
    ],
  );
  return { model: encodeModel(model), guards };
}

function trainBody(m: Manifest, states: readonly ValueInfo[]): { body: Uint8Array; guards: GuardOutput[] } {
  const graph = new GraphBuilder('s');
  const guards: GuardOutput[] = [];
  const bytes = graph.node('Gather', ['features', 'step.block']);
  const labels = graph.node('Gather', ['labels', 'step.block']);
  const input = graph.node('Cast', [bytes], { to: { int: 11 } });
  const passes = emitForward(graph, m, input, guards, 'step.');
  let G = emitLossError(graph, m, passes.at(-1)!.Y, labels, guards);
  graph.node('Identity', [G], {}, 'step.error');
  const updates: string[] = [];
  for (const { scale, A } of [...passes].reverse()) {
    const [W, b] = [`step.W${scale.layer}`, `step.b${scale.layer}`];
    const next = emitUpdate(graph, A, G, 'step.m', W, b);
    updates.unshift(next.W, next.b);
    if (scale.layer === 1) break;
    const raw = emitBackError(graph, scale, G, W);
    const clipped = guardSigned(graph, raw, m.gbits, `G${scale.layer - 1}`, guards, 'step.');
    G = emitMasked(graph, A, clipped, m.abits);
  }
  tensorShapes(m).forEach(({ name, magnitudeMax }, index) => {
    const output = `step.max.${name}`;
    emitGuard(graph, updates[index]!, output);
    guards.push({ output: `max.${name}`, tensor: name, magnitudeMax: Number(magnitudeMax) });
  });
  const bodyInputs: ValueInfo[] = [
    ...states.map((state) => ({ ...state, name: `step.${state.name}` })),
    { name: 'step.block', type: 'int32', dims: [] },
    { name: 'step.m', type: 'float64', dims: [] },
  ];
  const bodyOutputs: ValueInfo[] = [
    ...states.map((state, index) => ({ ...state, name: updates[index]! })),
    ...guards.map(({ output }): ValueInfo => ({ name: `step.${output}`, type: 'float64', dims: [] })),
    { name: 'step.error', type: 'float64', dims: [m.batch, m.dims.at(-1)!] },
  ];
  return { body: graph.encode('fxt_step', bodyInputs, bodyOutputs), guards };
}

function emitForward(graph: GraphBuilder, m: Manifest, input: string, guards: GuardOutput[], prefix: string): Pass[] {
  let A = input;
  return layerScales(m).map((scale) => {
    const raw = emitDense(graph, scale, A, `${prefix}W${scale.layer}`, `${prefix}b${scale.layer}`);
    const pass = { scale, A };
    if (scale.isLast) {
      return { ...pass, Y: guardSigned(graph, raw, m.ybits, `Y${scale.layer}`, guards, prefix) };
    }
    pushSignedGuard(graph, raw, m.ybits, `Y${scale.layer}`, guards, prefix);
    A = emitClippedRelu(graph, raw, m.abits);
    return { ...pass, Y: raw };
  });
}

function emitLossError(graph: GraphBuilder, m: Manifest, Y: string, labels: string, guards: GuardOutput[]): string {
  const [a, g, C] = [m.a.at(-1)!, m.g.at(-1)!, m.dims.at(-1)!];
  if (m.loss.kind === 'softmax-ce') {
    return emitSoftmaxGradient(graph, m.loss, g, C, expTable(m.loss.E, a), Y, labels);
  }
  const raw = emitMseGradient(graph, a, g, C, Y, labels);
  return guardSigned(graph, raw, m.gbits, `G${m.dims.length - 1}`, guards, 'step.');
}

/** Guards a signed tensor and hands on its clipped copy. */
function guardSigned(
  graph: GraphBuilder,
  x: string,
  bits: number,
  tensor: string,
  guards: GuardOutput[],
  prefix: string,
): string {
  pushSignedGuard(graph, x, bits, tensor, guards, prefix);
  return emitSignedClip(graph, x, bits);
}

function pushSignedGuard(
  graph: GraphBuilder,
  x: string,
  bits: number,
  tensor: string,
  guards: GuardOutput[],
  prefix: string,
): void {
  emitGuard(graph, x, `${prefix}max.${tensor}`);
  guards.push({ output: `max.${tensor}`, tensor, magnitudeMax: 2 ** (bits - 1) - 1 });
}
