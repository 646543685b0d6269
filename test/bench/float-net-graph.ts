/** A net of `fxt/2` in ordinary float32 on the same runtime: the yardstick of the exact engine's speed and accuracy. */
import { elementTypeOf } from '#libs/onnx';
import { encodeModel, GraphBuilder, netOf, type Net, type NetManifest, type ValueInfo } from '#libs/step';
import { FloatGraph } from './float-graph.js';
import { floatLosses } from './float-losses.js';
import { floatOps, type Passed, type Place } from './float-ops.js';

/** What of an optimizer's members a float trainer reads. */
interface Optimizer {
  readonly kind: string;
  readonly beta1?: readonly [number, number];
  readonly beta2?: readonly [number, number];
  readonly c2?: number;
  readonly eps?: number;
  readonly gq?: number;
  readonly clip?: number;
  readonly decay?: number;
}

interface Moved {
  readonly name: string;
  readonly D: string;
  readonly decays: boolean;
}

/**
 * Inputs as the exact graph has them, in float32, with `rate` [T] for its scalars; outputs the state. Parameters that the
 * job does not train are inputs too.
 */
export function buildFloatNetGraph(m: NetManifest): { model: Uint8Array; states: readonly ValueInfo[] } {
  const net = netOf(m);
  const kinds = m.optimizer.kind === 'adamw' ? ['', 'm1.', 'm2.'] : [''];
  const frozen = real(net.parameters.filter(({ isFrozen }) => isFrozen));
  const trained = real(net.parameters.filter(({ isFrozen }) => !isFrozen));
  const states = kinds.flatMap((kind) => trained.map((info) => ({ ...info, name: `${kind}${info.name}` })));
  const graph = new GraphBuilder('o');
  const scanned: ValueInfo[] = [
    { name: 'blocks', type: 'int32', dims: ['steps'] },
    { name: 'rate', type: 'float32', dims: ['steps'] },
  ];
  const outputs = states.map((state) => ({ ...state, name: `${state.name}.next` }));
  const loss: ValueInfo = { name: 'loss', type: 'float32', dims: ['steps'] };
  graph.nodes(
    'Scan',
    [...states, ...scanned].map(({ name }) => name),
    { body: { graph: stepBody(m, net, states, scanned) }, num_scan_inputs: { int: 2 } },
    [...outputs, loss].map(({ name }) => name),
  );
  const data: ValueInfo[] = [
    { name: 'features', type: elementTypeOf(m), dims: ['blocks_count', m.batch, ...net.input.shape] },
    { name: 'labels', type: 'int32', dims: ['blocks_count', m.batch, ...net.labels.shape] },
  ];
  const model = graph.encode('float_net', [...data, ...frozen, ...states, ...scanned], [...outputs, loss]);
  return { model: encodeModel(model), states };
}

/** Inputs `features` [rows, …] and all parameters; the output is `output`, real numbers. */
export function buildFloatForwardGraph(m: NetManifest): Uint8Array {
  const net = netOf(m);
  const graph = new GraphBuilder('e');
  const f = new FloatGraph(graph);
  const passes = forward(f, net, realInput(f, net, 'features'), ({ name }) => name);
  graph.nodes('Identity', [passes.get(net.output.id)!.output], {}, ['output']);
  const inputs: ValueInfo[] = [
    { name: 'features', type: elementTypeOf(m), dims: ['rows', ...net.input.shape] },
    ...real(net.parameters),
  ];
  const output: ValueInfo = { name: 'output', type: 'float32', dims: ['rows', ...net.output.shape] };
  return encodeModel(graph.encode('float_net', inputs, [output]));
}

const real = (parameters: Net['parameters']): ValueInfo[] =>
  parameters.map(({ name, dims }) => ({ name, type: 'float32', dims }));

function stepBody(m: NetManifest, net: Net, states: readonly ValueInfo[], scanned: readonly ValueInfo[]): Uint8Array {
  const graph = new GraphBuilder('s');
  const f = new FloatGraph(graph);
  const features = graph.node('Gather', ['features', 'step.blocks']);
  const passes = forward(f, net, realInput(f, net, features), ({ name, isFrozen }) =>
    isFrozen ? name : `step.${name}`,
  );
  const labels = graph.node('Gather', ['labels', 'step.blocks']);
  const { G, loss } = floatLosses[String(m.loss.kind)]!(f, net, passes.get(net.output.id)!.output, labels);
  const moved = backward(f, net, passes, G);
  const next = update(f, m.optimizer as unknown as Optimizer, moved);
  const inputs = [
    ...states.map((state) => ({ ...state, name: `step.${state.name}` })),
    ...scanned.map((info) => ({ ...info, name: `step.${info.name}`, dims: [] })),
  ];
  const outputs = [
    ...states.map((state) => ({ ...state, name: next.get(state.name)! })),
    { name: loss, type: 'float32', dims: [] } satisfies ValueInfo,
  ];
  return graph.encode('float_net_step', inputs, outputs);
}

function realInput(f: FloatGraph, { input }: Net, features: string): string {
  return input.element === 'token' ? features : f.scaled(features, input.a);
}

/** @param nameOf what holds a parameter's values in the graph */
function forward(
  f: FloatGraph,
  { layers }: Net,
  first: string,
  nameOf: (parameter: Net['parameters'][number]) => string,
): ReadonlyMap<string, Passed> {
  const outputs = new Map([['input', first]]);
  const passes = new Map<string, Passed>();
  for (const layer of layers) {
    const { W, b } = layer.parameters;
    const place: Place = {
      ...{ members: layer.members as Record<string, unknown>, batch: layer.batch },
      ...{ inputs: layer.inputs.map(({ shape }) => shape), output: layer.output.shape },
      ...(W !== undefined && { W: nameOf(W) }),
      ...(b !== undefined && { b: nameOf(b) }),
    };
    const passed = floatOps[layer.op]!(
      f,
      place,
      layer.inputs.map(({ id }) => outputs.get(id)!),
    );
    passes.set(layer.id, passed);
    outputs.set(layer.id, passed.output);
  }
  return passes;
}

function backward(f: FloatGraph, { layers, parameters }: Net, passes: ReadonlyMap<string, Passed>, G: string): Moved[] {
  const errors = new Map([[layers.at(-1)!.id, G]]);
  const gradients = new Map<string, string>();
  for (const layer of layers.toReversed()) {
    const error = errors.get(layer.id);
    if (error === undefined) continue;
    const wanted = layer.inputs.map(({ hasError }) => hasError);
    const { inputs, W, b } = passes.get(layer.id)!.back(error, wanted);
    if (W !== undefined) gradients.set(`${layer.id}.W`, W);
    if (b !== undefined) gradients.set(`${layer.id}.b`, b);
    inputs.forEach((part, i) => {
      const { id, hasError } = layer.inputs[i]!;
      if (part === undefined || !hasError) return;
      const sum = errors.get(id);
      errors.set(id, sum === undefined ? part : f.add(sum, part));
    });
  }
  return parameters
    .filter(({ isFrozen }) => !isFrozen)
    .map(({ name, decays }) => ({ name, decays, D: gradients.get(name)! }));
}

function update(f: FloatGraph, optimizer: Optimizer, moved: readonly Moved[]): ReadonlyMap<string, string> {
  const next = new Map<string, string>();
  const gradients = clipped(f, optimizer, moved);
  moved.forEach(({ name, decays }, i) => {
    const [W, h] = [`step.${name}`, gradients[i]!];
    if (optimizer.kind === 'sgd-exact') {
      next.set(name, f.sub(W, f.mul(h, 'step.rate')));
      return;
    }
    const factor = ([b, q]: readonly [number, number]) => f.scalar(b * 2 ** -q);
    const nearer = (m: string, x: string, by: string) => f.add(m, f.mul(f.sub(x, m), by));
    const m1 = nearer(`step.m1.${name}`, h, factor(optimizer.beta1!));
    const m2 = nearer(`step.m2.${name}`, f.mul(h, h), factor(optimizer.beta2!));
    const U = f.node('Div', [m1, f.add(f.node('Sqrt', [m2]), f.scalar(epsilon(optimizer)))]);
    const isDecayed = optimizer.decay !== undefined && decays;
    const full = isDecayed ? f.add(U, f.mul(W, f.scalar(optimizer.decay! * 2 ** -16))) : U;
    next.set(name, f.sub(W, f.mul(full, 'step.rate')));
    next.set(`m1.${name}`, m1);
    next.set(`m2.${name}`, m2);
  });
  return next;
}

/** The manifest's, at the fraction of the root of `m2`. */
function epsilon({ eps, gq, c2 }: Optimizer): number {
  return eps! * 2 ** -(gq! + c2! / 2);
}

function clipped(f: FloatGraph, { clip, gq }: Optimizer, moved: readonly Moved[]): readonly string[] {
  if (clip === undefined) return moved.map(({ D }) => D);
  const squares = moved.map(({ D }) => f.node('ReduceSumSquare', [D], { keepdims: { int: 0 } }));
  const norm = f.node('Sqrt', [f.node('Sum', squares)]);
  const cut = f.node('Min', [f.node('Div', [f.scalar(clip * 2 ** (6 - gq!)), norm]), f.scalar(1)]);
  return moved.map(({ D }) => f.mul(D, cut));
}
