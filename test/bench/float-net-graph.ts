/** A net of `fxt/2` trained in ordinary float32 by the same runtime: the yardstick of the exact engine's speed. */
import { encodeModel, GraphBuilder, netOf, type Net, type NetManifest, type ValueInfo } from '#libs/step';
import { FloatGraph } from './float-graph.js';
import { floatOps, type Passed, type Place } from './float-ops.js';

/** What of an optimizer's members a float trainer reads. */
interface Optimizer {
  readonly kind: string;
  readonly beta1?: readonly [number, number];
  readonly beta2?: readonly [number, number];
  readonly clip?: number;
  readonly decay?: number;
}

interface Moved {
  readonly name: string;
  readonly D: string;
  readonly decays: boolean;
}

/** Inputs as the exact graph has them, in float32, with `rate` [T] for its scalars; outputs the state. */
export function buildFloatNetGraph(m: NetManifest): { model: Uint8Array; states: readonly ValueInfo[] } {
  const net = netOf(m);
  const kinds = m.optimizer.kind === 'adamw' ? ['', 'm1.', 'm2.'] : [''];
  const states = kinds.flatMap((kind) =>
    net.parameters.map(({ name, dims }): ValueInfo => ({ name: `${kind}${name}`, type: 'float32', dims })),
  );
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
    {
      name: 'features',
      type: net.input.element === 'token' ? 'int32' : 'uint8',
      dims: ['blocks_count', m.batch, ...net.input.shape],
    },
    { name: 'labels', type: 'int32', dims: ['blocks_count', m.batch, ...net.labels.shape] },
  ];
  const model = graph.encode('float_net', [...data, ...states, ...scanned], [...outputs, loss]);
  return { model: encodeModel(model), states };
}

function stepBody(m: NetManifest, net: Net, states: readonly ValueInfo[], scanned: readonly ValueInfo[]): Uint8Array {
  const graph = new GraphBuilder('s');
  const f = new FloatGraph(graph);
  const features = graph.node('Gather', ['features', 'step.blocks']);
  const passes = forward(f, net, net.input.element === 'token' ? features : scaled(f, features, net.input.a));
  const { G, loss } = lossError(f, net, passes.get(net.output.id)!.output);
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

function scaled(f: FloatGraph, bytes: string, fraction: number): string {
  return f.mul(f.node('Cast', [bytes], { to: { int: 1 } }), f.scalar(2 ** -fraction));
}

function forward(f: FloatGraph, { layers, parameters }: Net, first: string): ReadonlyMap<string, Passed> {
  const outputs = new Map([['input', first]]);
  const passes = new Map<string, Passed>();
  for (const layer of layers) {
    const own = (role: string) => parameters.some(({ layer: id, role: r }) => id === layer.id && r === role);
    const place: Place = {
      members: layer.members as Record<string, unknown>,
      ...{ inputs: layer.inputs.map(({ shape }) => shape), output: layer.output.shape },
      ...(own('W') && { W: `step.${layer.id}.W` }),
      ...(own('b') && { b: `step.${layer.id}.b` }),
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

function lossError(f: FloatGraph, { output }: Net, Y: string): { G: string; loss: string } {
  const C = output.shape.at(-1)!;
  const identity = Float32Array.from({ length: C * C }, (_, i) => (i % (C + 1) === 0 ? 1 : 0));
  const labels = f.reshape(f.node('Gather', ['labels', 'step.blocks']), [-1]);
  const oneHot = f.node('Gather', [f.graph.float32([C, C], identity), labels]);
  const p = f.node('Softmax', [f.rows(Y, C)]);
  const ofLabel = f.sum(f.mul(p, oneHot), 1, 0);
  const loss = f.node('ReduceMean', [f.node('Neg', [f.node('Log', [ofLabel])])], { keepdims: { int: 0 } });
  return { G: f.reshape(f.sub(p, oneHot), [-1, ...output.shape]), loss };
}

function backward(f: FloatGraph, { layers, parameters }: Net, passes: ReadonlyMap<string, Passed>, G: string): Moved[] {
  const errors = new Map([[layers.at(-1)!.id, G]]);
  const gradients = new Map<string, string>();
  for (const layer of layers.toReversed()) {
    const { inputs, W, b } = passes.get(layer.id)!.back(errors.get(layer.id)!);
    if (W !== undefined) gradients.set(`${layer.id}.W`, W);
    if (b !== undefined) gradients.set(`${layer.id}.b`, b);
    inputs.forEach((error, i) => {
      const { id, hasError } = layer.inputs[i]!;
      if (error === undefined || !hasError) return;
      const sum = errors.get(id);
      errors.set(id, sum === undefined ? error : f.add(sum, error));
    });
  }
  return parameters.map(({ name, decays }) => ({ name, decays, D: gradients.get(name)! }));
}

function update(f: FloatGraph, optimizer: Optimizer, moved: readonly Moved[]): ReadonlyMap<string, string> {
  const next = new Map<string, string>();
  const gradients = clipped(f, optimizer, moved);
  moved.forEach(({ name, decays }, i) => {
    const [W, h] = [`step.${name}`, gradients[i]!];
    if (optimizer.kind !== 'adamw') {
      next.set(name, f.sub(W, f.mul(h, 'step.rate')));
      return;
    }
    const factor = ([b, q]: readonly [number, number]) => f.scalar(b * 2 ** -q);
    const nearer = (m: string, x: string, by: string) => f.add(m, f.mul(f.sub(x, m), by));
    const m1 = nearer(`step.m1.${name}`, h, factor(optimizer.beta1!));
    const m2 = nearer(`step.m2.${name}`, f.mul(h, h), factor(optimizer.beta2!));
    const U = f.node('Div', [m1, f.add(f.node('Sqrt', [m2]), f.scalar(1e-8))]);
    const isDecayed = optimizer.decay !== undefined && decays;
    const full = isDecayed ? f.add(U, f.mul(W, f.scalar(optimizer.decay! * 2 ** -16))) : U;
    next.set(name, f.sub(W, f.mul(full, 'step.rate')));
    next.set(`m1.${name}`, m1);
    next.set(`m2.${name}`, m2);
  });
  return next;
}

function clipped(f: FloatGraph, { clip }: Optimizer, moved: readonly Moved[]): readonly string[] {
  if (clip === undefined) return moved.map(({ D }) => D);
  const squares = moved.map(({ D }) => f.node('ReduceSumSquare', [D], { keepdims: { int: 0 } }));
  const norm = f.node('Sqrt', [f.node('Sum', squares)]);
  const cut = f.node('Min', [f.node('Div', [f.scalar(clip * 2 ** -6), norm]), f.scalar(1)]);
  return moved.map(({ D }) => f.mul(D, cut));
}
