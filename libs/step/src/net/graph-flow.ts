/** One training step as nodes: forward, loss, errors back, update (libs/step/SPEC.md §21 to §24). */
import { GraphBuilder } from '../onnx/graph-builder.js';
import type { NetLayer } from './edge.js';
import { NetEmitter, type Watched } from './emitter.js';
import { computeCopies, emitForward, watchParameter } from './graph-parts.js';
import type { Net } from './net.js';
import { netOps } from './ops/index.js';
import type { EmittedPass, ParameterNames } from './ops/op.js';
import { trainedShapes } from './state.js';

export interface Flow {
  readonly graph: GraphBuilder;
  /** Names of the state after the step, in the order of the state. */
  readonly next: readonly string[];
  readonly watched: readonly Watched[];
  readonly counted: readonly string[];
  readonly perStep: readonly { readonly layer: NetLayer; readonly size: number }[];
  readonly scalarCount: number;
}

/**
 * @param frozen parameters of the outer graph that the step reads, by layer
 * @param counts whether saturated elements and errors that are 0 are counted
 */
export function emitFlow(net: Net, frozen: ReadonlyMap<string, ParameterNames>, counts: boolean): Flow {
  const { manifest, loss, optimizer } = net;
  const graph = new GraphBuilder('s');
  const counter = new Counter(graph, counts);
  const e = new NetEmitter(graph, {
    ...{ isTraining: true, overflow: manifest.overflow, prefix: 'step.', counts },
    onSaturate: (x, cut, tensor) => counter.cut(x, cut, tensor),
  });
  const trained = trainedShapes(manifest);
  const parameters = new Map([...frozen, ...computeCopies(e, trained, 'step.')]);
  const [features, labels] = ['features', 'labels'].map((name) => graph.node('Gather', [name, 'step.blocks']));
  const passes = emitForward(e, net, features!, parameters);
  const Y = passes.get(net.output.id)!.output;
  const G = loss.kind.emit(e, loss.members, loss.place, Y, labels!);
  const figures = loss.kind.emitFigures(e, loss.members, loss.place, Y, G, labels!);
  graph.node('Identity', [figures.loss], {}, 'step.loss');
  graph.node('Identity', [figures.right], {}, 'step.right');
  const gradients = emitErrors(e, net, passes, parameters, G, counter);
  const kinds = optimizer.kind.states(optimizer.members);
  const scalarCount = optimizer.kind.scalars(optimizer.members, 0).length;
  const moved = trained.map((parameter) => ({
    ...{ parameter, W: `step.${parameter.name}`, D: gradients.get(parameter.name)! },
    state: kinds.map((kind) => `step.${kind}.${parameter.name}`),
  }));
  const scalars = Array.from({ length: scalarCount }, (_, i) => e.reshape(e.slice('step.scalars', 0, i, i + 1), []));
  const updated = optimizer.kind.emit(e, optimizer.members, moved, scalars);
  updated.forEach(({ W }, i) => watchParameter(e, trained[i]!, W));
  return {
    ...{ graph, watched: e.watched, counted: counter.end(), scalarCount },
    next: [...updated.map(({ W }) => W), ...kinds.flatMap((_, at) => updated.map(({ state }) => state[at]!))],
    perStep: net.layers.flatMap((layer) => {
      const size = netOps[layer.op]!.perStep?.size;
      return size === undefined ? [] : [{ layer, size }];
    }),
  };
}

/** Exact gradient sums by parameter, in the order of libs/step/SPEC.md §21. */
function emitErrors(
  e: NetEmitter,
  { layers }: Net,
  passes: ReadonlyMap<string, EmittedPass>,
  parameters: ReadonlyMap<string, ParameterNames>,
  G: string,
  counter: Counter,
): ReadonlyMap<string, string> {
  const errors = new Map([[layers.at(-1)!.id, G]]);
  const gradients = new Map<string, string>();
  for (const layer of layers.toReversed()) {
    const error = errors.get(layer.id);
    if (!layer.output.hasError || error === undefined) continue;
    counter.zeros(error, layer.id);
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
  return gradients;
}

/** Counts of saturated elements by edge and of errors that are 0: outputs of the step, outside the semantics. */
class Counter {
  readonly #cuts = new Map<string, string[]>();
  readonly #outputs: string[] = [];

  constructor(
    private readonly graph: GraphBuilder,
    private readonly isOn: boolean,
  ) {}

  cut(x: string, cut: string, tensor: string): void {
    if (!this.isOn) return;
    const same = this.graph.node('Cast', [this.graph.node('Equal', [x, cut])], { to: { int: 11 } });
    const changed = this.graph.node('Sub', [this.graph.scalar(1), same]);
    const count = this.graph.node('ReduceSum', [changed], { keepdims: { int: 0 } });
    this.#cuts.set(tensor, [...(this.#cuts.get(tensor) ?? []), count]);
  }

  zeros(error: string, tensor: string): void {
    if (!this.isOn) return;
    const isZero = this.graph.node('Cast', [this.graph.node('Equal', [error, this.graph.scalar(0)])], {
      to: { int: 11 },
    });
    this.graph.node('ReduceMean', [isZero], { keepdims: { int: 0 } }, `step.zero.${tensor}`);
    this.#outputs.push(`zero.${tensor}`);
  }

  /** Names of the outputs, without their prefix. */
  end(): readonly string[] {
    for (const [tensor, counts] of this.#cuts) {
      this.graph.node('Sum', counts, {}, `step.cut.${tensor}`);
      this.#outputs.push(`cut.${tensor}`);
    }
    return this.#outputs;
  }
}
