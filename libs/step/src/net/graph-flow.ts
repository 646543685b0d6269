/** One training step as nodes: forward, loss, errors back, update (libs/step/SPEC.md §21 to §24). */
import { GraphBuilder } from '../onnx/graph-builder.js';
import { batchParts, emitRowPartAfter, emitRowParts } from './batch-parts.js';
import { hasRoom } from './bounds.js';
import { NetEmitter } from './emitter.js';
import { countedEdges, emitCounts, type CountedEdge } from './edge-counts.js';
import { carriedGroups, carriedTensors, emitParameters, watchParameters, type CarriedGroup } from './carried.js';
import { emitForward } from './graph-parts.js';
import type { Net } from './net.js';
import { netOps } from './ops/index.js';
import type { EmittedPass, ParameterNames } from './ops/op.js';
import type { Check } from './row-sums.js';
import { isLarge } from './state.js';
import type { Watched } from './watched.js';

export interface FlowWay {
  readonly isWatched: boolean;
  readonly isQuick: boolean;
  /** Whether the runtime's products of bytes are exact, so that they may be taken. */
  readonly hasBytes?: boolean;
  /** Whether the step counts what lies at the ends of edges, and errors that are 0. */
  readonly isCounted?: boolean;
}

export interface Flow {
  readonly graph: GraphBuilder;
  /** Names of the state after the step, in the order of the state. */
  readonly next: readonly string[];
  readonly watched: readonly Watched[];
  readonly checks: readonly Check[];
  readonly scalarCount: number;
  /** Of the figure `counts`; none where nothing is counted. */
  readonly counted: readonly CountedEdge[];
}

/**
 * @param frozen parameters of the outer graph that the step reads, by layer
 * @param way    whether parameters are watched after the update, and products may run in float32
 */
export function emitFlow(net: Net, frozen: ReadonlyMap<string, ParameterNames>, way: FlowWay): Flow {
  const { manifest, optimizer } = net;
  const graph = new GraphBuilder('s');
  const e = new NetEmitter(graph, {
    isTraining: true,
    overflow: manifest.overflow,
    hasRoom: hasRoom(net),
    isQuick: way.isQuick,
    records: manifest.batch / batchParts(net),
    bytes: way.hasBytes === true ? { ofLoss: edgesOfLoss(net) } : undefined,
    prefix: 'step:',
  });
  const groups = carriedGroups(net).map((group) => emittedGroup(e, net, group));
  const parameters = new Map(frozen);
  for (const [layer, own] of emitParameters(e, groups)) parameters.set(layer, { ...parameters.get(layer), ...own });
  const isCounted = way.isCounted === true;
  const parts = emitParts(e, net, parameters, isCounted);
  for (const name of ['loss', 'right'] as const) {
    graph.node(
      'Sum',
      parts.figures.map((figures) => figures[name]),
      {},
      `step:${name}`,
    );
  }
  if (parts.counts !== undefined) e.output(parts.counts, 'step:counts');
  const scalarCount = optimizer.kind.scalars(optimizer.members, 0).length;
  const scalars = Array.from({ length: scalarCount }, (_, i) => e.slice('step:scalars', 0, i, i + 1));
  const moved = groups.map(({ group: { parameters: own, slice }, W, carried }) => ({
    ...{ parameters: own, slice, W, carried },
    D: own.map(({ name }) => parts.gradients.get(name)!),
  }));
  e.side = 'values';
  const next = optimizer.kind.emit(e, optimizer.members, moved, scalars);
  if (way.isWatched) {
    const [own, last] = [groups.map(({ group }) => group), next.map(({ W }) => W)];
    watchParameters(e, net, own, last);
  }
  return {
    ...{ graph, watched: e.watched, checks: e.rowSums.checks, scalarCount },
    counted: isCounted ? countedEdges(net) : [],
    next: carriedTensors(net).map(({ kind, group }) => {
      const { W, state } = next[groups.findIndex((one) => one.group.name === group.name)]!;
      return kind === '' ? W : state[optimizer.kind.states(optimizer.members).indexOf(kind)]!;
    }),
  };
}

/**
 * Figures of each part of the batch, gradient sums over all, and counts of the first. Of a large net a part starts only when
 * the sums of the one before are there, and what is counted of it, so that one part's edges are in memory at a time.
 */
function emitParts(e: NetEmitter, net: Net, parameters: ReadonlyMap<string, ParameterNames>, isCounted: boolean) {
  const { loss, manifest } = net;
  const count = batchParts(net);
  const isInTurn = count > 1 && isLarge(manifest);
  const [features, labels] = ['features', 'labels'].map((name) => e.node('Gather', [name, 'step:blocks']));
  const parts = isInTurn ? undefined : emitRowParts(e, features!, manifest.batch, count);
  let sums: ReadonlyMap<string, string> = new Map();
  let counts: string | undefined;
  const figures = emitRowParts(e, labels!, manifest.batch, count).map((own, i) => {
    e.side = 'values';
    const before = [...sums.values(), ...(counts === undefined ? [] : [counts])];
    const part = parts?.[i] ?? emitRowPartAfter(e, features!, manifest.batch, [i, count], before);
    e.gates.mayMove = !isCounted || i > 0;
    const passes = emitForward(e, net, part, parameters);
    e.side = 'errors';
    const Y = passes.get(net.output.id)!.output;
    const G = loss.kind.emit(e, loss.members, loss.place, Y, own);
    const { gradients, errors } = emitErrors(e, net, passes, parameters, G);
    const added = Array.from(gradients, ([name, D]) => {
      const before = sums.get(name);
      const sum = before === undefined ? D : e.rowSums.sum(before, D);
      return [name, isInTurn ? e.rowSums.value(sum) : sum] as const;
    });
    sums = new Map(added);
    if (isCounted && i === 0) {
      const values = new Map(Array.from(passes, ([id, { output }]) => [id, output]));
      counts = emitCounts(e, net, { values, errors });
    }
    return loss.kind.emitFigures(e, loss.members, loss.place, Y, G, own);
  });
  return { figures, gradients: sums, counts };
}

function emittedGroup(e: NetEmitter, net: Net, group: CarriedGroup) {
  const own = carriedTensors(net).filter((one) => one.group.name === group.name);
  const [carried, ...state] = own.map(({ name }) => `step:${name}`);
  const { isMoved } = own[0]!;
  const W = isMoved ? e.later(() => e.carriedValue(carried!)) : carried!;
  return { group, W, isMoved, carried: { W: carried!, state } };
}

/** The output, and edges before it whose errors come back from it as they are. */
function edgesOfLoss({ layers, output }: Net): ReadonlySet<string> {
  const edges = new Set([output.id]);
  for (const { id, op, inputs } of layers.toReversed()) {
    if (edges.has(id) && netOps[op]!.keepsErrors === true) edges.add(inputs[0]!.id);
  }
  return edges;
}

/** Exact gradient sums by parameter, in the order of libs/step/SPEC.md §21, and errors by edge. */
function emitErrors(
  e: NetEmitter,
  { layers }: Net,
  passes: ReadonlyMap<string, EmittedPass>,
  parameters: ReadonlyMap<string, ParameterNames>,
  G: string,
): { readonly gradients: ReadonlyMap<string, string>; readonly errors: ReadonlyMap<string, string> } {
  const errors = new Map([[layers.at(-1)!.id, G]]);
  const gradients = new Map<string, string>();
  for (const layer of layers.toReversed()) {
    const error = errors.get(layer.id);
    if (!layer.output.hasError || error === undefined) continue;
    const wanted = layer.inputs.map((edge) => edge.hasError);
    const pass = passes.get(layer.id)!;
    const flow = netOps[layer.op]!.emitBackward(e, layer, error, pass, parameters.get(layer.id) ?? {}, wanted);
    for (const [role, D] of Object.entries(flow.gradients)) gradients.set(`${layer.id}.${role}`, D);
    flow.inputs.forEach((dx, i) => {
      if (dx === undefined) return;
      const edge = layer.inputs[i]!;
      const sum = errors.get(edge.id);
      errors.set(edge.id, sum === undefined ? dx : e.sat(e.add(sum, dx), edge));
    });
  }
  return { gradients, errors };
}
