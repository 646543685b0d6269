/** The training graph and the evaluation graph in ONNX, emitted from the ops (libs/step/SPEC.md §10). */
import { checkBounds } from './bounds.js';
import type { GuardSet } from './guard-set.js';
import { guardTable, type TensorGuard } from './guards.js';
import { lossOf } from './losses/index.js';
import { classCount, featureCount, type Manifest } from './manifest.js';
import { encodeModel, GraphBuilder, type ValueInfo } from './onnx/graph-builder.js';
import { emitGuard, emitSignedClip } from './ops/guard.js';
import { activation, linear, type ByKind } from './ops/index.js';
import { layerScales, type LayerScale } from './scale.js';
import { byLayer, tensorShapes } from './weights.js';

export interface GuardOutput {
  /** Output of the graph: max |tensor − centre|, one float64 per step. */
  readonly output: string;
  /** The largest such magnitude that is sure to be in range. */
  readonly magnitudeMax: number;
  readonly guard: TensorGuard;
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
  readonly parameters: ByKind<string>;
  readonly A: string;
  readonly Y: string;
}

/** @throws Rejection STEP_RANGE_R1 … STEP_RANGE_R4 */
export function buildTrainGraph(m: Manifest, set: GuardSet = 'attested'): TrainGraph {
  checkBounds(m, set);
  const states = tensorShapes(m).map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const { body, guards } = trainBody(m, set, states);
  const [n0, C] = [featureCount(m), classCount(m)];
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
export function buildEvaluateGraph(m: Manifest, set: GuardSet = 'attested'): EvaluateGraph {
  checkBounds(m, set);
  const graph = new GraphBuilder('e');
  const watch = new Watch(graph, guardTable(m, set), '');
  const { guards } = watch;
  const input = graph.node('Cast', ['features'], { to: { int: 11 } });
  const passes = emitForward(graph, m, input, watch);
  graph.node('ArgMax', [passes.at(-1)!.Y], { axis: { int: 1 }, keepdims: { int: 0 } }, 'prediction');
  const weights = tensorShapes(m).map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const model = graph.encode(
    'fxt_evaluate',
    [{ name: 'features', type: 'uint8', dims: ['rows', featureCount(m)] }, ...weights],
    [
      { name: 'prediction', type: 'int64', dims: ['rows'] },
      ...guards.map(({ output }): ValueInfo => ({ name: output, type: 'float64', dims: [] })),
    ],
  );
  return { model: encodeModel(model), guards };
}

function trainBody(
  m: Manifest,
  set: GuardSet,
  states: readonly ValueInfo[],
): { body: Uint8Array; guards: readonly GuardOutput[] } {
  const graph = new GraphBuilder('s');
  const table = guardTable(m, set);
  const watch = new Watch(graph, table, 'step.');
  const { guards } = watch;
  const bytes = graph.node('Gather', ['features', 'step.block']);
  const labels = graph.node('Gather', ['labels', 'step.block']);
  const input = graph.node('Cast', [bytes], { to: { int: 11 } });
  const passes = emitForward(graph, m, input, watch);
  let G = emitLossError(graph, m, passes.at(-1)!.Y, labels, watch);
  const error = G;
  const updates: string[] = [];
  for (const { scale, parameters, A } of [...passes].reverse()) {
    const next = linear.emitUpdate(graph, A, G, 'step.m', parameters);
    updates.unshift(...linear.parameters(scale).map(({ kind }) => next[kind]));
    if (scale.layer === 1) break;
    const raw = linear.emitBackward(graph, scale, G, parameters);
    const tensor = `G${scale.layer - 1}`;
    G = table.get(tensor)!.isMasked
      ? watch.clipped(activation.emitMasked(graph, A, raw, m.abits), tensor)
      : activation.emitMasked(graph, A, watch.clipped(raw, tensor), m.abits);
  }
  tensorShapes(m).forEach(({ name }, index) => watch.guard(updates[index]!, name));
  const bodyInputs: ValueInfo[] = [
    ...states.map((state) => ({ ...state, name: `step.${state.name}` })),
    { name: 'step.block', type: 'int32', dims: [] },
    { name: 'step.m', type: 'float64', dims: [] },
  ];
  const bodyOutputs: ValueInfo[] = [
    ...states.map((state, index) => ({ ...state, name: updates[index]! })),
    ...guards.map(({ output }): ValueInfo => ({ name: `step.${output}`, type: 'float64', dims: [] })),
    { name: error, type: 'float64', dims: [m.batch, classCount(m)] },
  ];
  return { body: graph.encode('fxt_step', bodyInputs, bodyOutputs), guards };
}

function emitForward(graph: GraphBuilder, m: Manifest, input: string, watch: Watch): Pass[] {
  const names = tensorShapes(m).map(({ name }) => `${watch.prefix}${name}`);
  const parametersOf = byLayer(m, names);
  let A = input;
  return layerScales(m).map((scale) => {
    const parameters = parametersOf[scale.layer - 1]!;
    const addend = linear.emitAddend(graph, scale, parameters.bias);
    const raw = linear.emitForward(graph, scale, A, parameters.weight, addend);
    const pass = { scale, parameters, A };
    if (scale.isLast) return { ...pass, Y: watch.clipped(raw, `Y${scale.layer}`) };
    watch.guard(raw, `Y${scale.layer}`);
    A = activation.emitForward(graph, raw, m.abits);
    return { ...pass, Y: raw };
  });
}

function emitLossError(graph: GraphBuilder, m: Manifest, Y: string, labels: string, watch: Watch): string {
  const loss = lossOf(m);
  const raw = loss.emit(graph, Y, labels);
  return loss.isGuarded ? watch.clipped(raw, `G${m.dims.length - 1}`) : raw;
}

/** Emits the guards of a table, and keeps a list of what was emitted. */
class Watch {
  readonly guards: GuardOutput[] = [];

  constructor(
    readonly graph: GraphBuilder,
    readonly table: ReadonlyMap<string, TensorGuard>,
    readonly prefix: string,
  ) {}

  /** One magnitude tells the whole range where it is taken from the middle of the range; of weights it also says how far they stray. */
  guard(x: string, tensor: string): void {
    const guard = this.table.get(tensor)!;
    const [low, high] = [Number(guard.low), Number(guard.high)];
    const centre = guard.isAtBorder ? 0 : (low + high) / 2;
    emitGuard(this.graph, x, centre, `${this.prefix}max.${tensor}`);
    this.guards.push({ output: `max.${tensor}`, magnitudeMax: high - centre, guard });
  }

  /** @returns name of the guarded tensor's clipped copy */
  clipped(x: string, tensor: string): string {
    this.guard(x, tensor);
    return emitSignedClip(this.graph, x, Number(this.table.get(tensor)!.high));
  }
}
