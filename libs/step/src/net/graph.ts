/** The training graph and the forward graph of a net in ONNX, emitted from its ops (libs/step/SPEC.md §26). */
import { encodeModel, GraphBuilder, type ElementType, type ValueInfo } from '../onnx/graph-builder.js';
import { hasRoom } from './bounds.js';
import { carriedTensors, type Carried } from './carried.js';
import { countColumns, type CountedEdge } from './edge-counts.js';
import { NetEmitter } from './emitter.js';
import { netOf } from './manifest.js';
import type { Net, NetManifest } from './net.js';
import { emitFlow, type Flow, type FlowWay } from './graph-flow.js';
import { computeCopies, emitForward } from './graph-parts.js';
import type { Check } from './row-sums.js';
import { stepInputSizes } from './step-inputs.js';
import type { Watched } from './watched.js';

/**
 * Inputs: `features` [blocks, B, …input shape], `labels` int32 [blocks, B, …label shape], `blocks` int32 [T], `scalars`
 * float64 [T, n] (the optimizer's numbers of each step), `input:<layer>` float64 [T, size] of layers that ask for numbers,
 * the float64 state as `packedTensors` has it, and frozen parameters by name. Outputs: the state as `<name>.next`; of
 * every step, [T]: `loss`, `right`, the watched magnitudes, and the checks; where edges are counted `counts`, [T, columns].
 */
export interface NetTrainGraph {
  readonly model: Uint8Array;
  readonly watched: readonly Watched[];
  readonly checks: readonly Check[];
  readonly counted: readonly CountedEdge[];
}

/** Inputs: `features` [rows, …] and all parameters by name. Output: `output`, whole numbers in float64 [rows, …]. */
export interface NetForwardGraph {
  readonly model: Uint8Array;
  readonly watched: readonly Watched[];
}

const elementTypes: Readonly<Record<string, ElementType>> = {
  ...{ uint8: 'uint8', int16: 'int16', int32: 'int32', token: 'int32' },
};

const telling: FlowWay = { isWatched: true, isQuick: false };

/**
 * @param way without parameters watched for callers who know that they stay within their guards, quick for those who look
 *            at the checks
 */
export function buildNetTrainGraph(m: NetManifest, way: FlowWay = telling): NetTrainGraph {
  const net = netOf(m);
  const outer = new GraphBuilder('o');
  const frozen = net.parameters.filter(({ isFrozen }) => isFrozen);
  const e = new NetEmitter(outer, {
    isTraining: true,
    overflow: m.overflow,
    hasRoom: hasRoom(net),
    records: 0,
    prefix: '',
  });
  const names = computeCopies(e, frozen, '');
  const carried = carriedTensors(net);
  const states = carried.map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const flow = emitFlow(net, names, way);
  const { watched, checks, scalarCount, counted } = flow;
  const scanned: ValueInfo[] = [
    { name: 'blocks', type: 'int32', dims: ['steps'] },
    { name: 'scalars', type: 'float64', dims: ['steps', scalarCount] },
    ...stepInputSizes(m).map(({ layer, size }): ValueInfo => ({
      name: `input:${layer.id}`,
      type: 'float64',
      dims: ['steps', size],
    })),
  ];
  const figures = ['loss', 'right', ...[...watched, ...checks].map(({ output }) => output)].map((name): ValueInfo => ({
    ...{ name, type: 'float64', dims: [] },
  }));
  if (counted.length > 0) figures.push({ name: 'counts', type: 'float64', dims: [countColumns(counted)] });
  const outputs: ValueInfo[] = [
    ...states.map((state) => ({ ...state, name: `${state.name}.next` })),
    ...figures.map((info) => ({ ...info, dims: ['steps', ...info.dims] })),
  ];
  outer.nodes(
    'Scan',
    [...states, ...scanned].map(({ name }) => name),
    { body: { graph: stepBody(flow, carried, scanned, figures) }, num_scan_inputs: { int: scanned.length } },
    outputs.map(({ name }) => name),
  );
  const inputs = [...states, ...scanned];
  const fixed = frozen.map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const graph = outer.encode('fxt2_train', [...dataInfos(net, ['block_count', m.batch]), ...fixed, ...inputs], outputs);
  return { model: encodeModel(graph), watched, checks, counted };
}

function stepBody(
  flow: Flow,
  carried: readonly Carried[],
  scanned: readonly ValueInfo[],
  figures: readonly ValueInfo[],
) {
  const states = carried.map(({ name, dims }): ValueInfo => ({ name: `step:${name}`, type: 'float64', dims }));
  const inputs = [
    ...states,
    ...scanned.map((info) => ({ ...info, name: `step:${info.name}`, dims: info.dims.slice(1) })),
  ];
  const outputs = [
    ...states.map((state, index) => ({ ...state, name: flow.next[index]! })),
    ...figures.map((info) => ({ ...info, name: `step:${info.name}` })),
  ];
  return flow.graph.encode('fxt2_step', inputs, outputs);
}

/** @param hasBytes as in `FlowWay` */
export function buildNetForwardGraph(m: NetManifest, hasBytes = false): NetForwardGraph {
  const net = netOf(m);
  const graph = new GraphBuilder('e');
  const e = new NetEmitter(graph, {
    ...{ isTraining: false, overflow: m.overflow, hasRoom: hasRoom(net), records: 0, prefix: '' },
    bytes: hasBytes ? { ofLoss: new Set() } : undefined,
  });
  const names = computeCopies(e, net.parameters, '');
  const passes = emitForward(e, net, 'features', names);
  e.output(passes.get(net.output.id)!.output, 'output');
  const parameters = net.parameters.map(({ name, dims }): ValueInfo => ({ name, type: 'float64', dims }));
  const model = graph.encode(
    'fxt2_forward',
    [dataInfos(net, ['rows'])[0]!, ...parameters],
    [
      { name: 'output', type: 'float64', dims: ['rows', ...net.output.shape] },
      ...e.watched.map(({ output }): ValueInfo => ({ name: output, type: 'float64', dims: [] })),
    ],
  );
  return { model: encodeModel(model), watched: e.watched };
}

/** `features` and `labels` as the graphs take them. */
function dataInfos({ input, labels }: Net, leading: readonly (number | string)[]): ValueInfo[] {
  return [
    { name: 'features', type: elementTypes[input.element]!, dims: [...leading, ...input.shape] },
    { name: 'labels', type: 'int32', dims: [...leading, ...labels.shape] },
  ];
}
