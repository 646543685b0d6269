/** The network of a manifest trained in ordinary float32 by the same runtime: the yardstick of the engine's speed. */
import { encodeModel, GraphBuilder, layerScales, tensorShapes, type Manifest, type ValueInfo } from '#libs/step';

/** Inputs and outputs as the exact training graph has them, in float32 and without guards and schedule. */
export function buildFloatTrainGraph(m: Manifest, learningRate: number): Uint8Array {
  const states = tensorShapes(m).map(({ name, dims }): ValueInfo => ({ name, type: 'float32', dims }));
  const inputs: ValueInfo[] = [...states, { name: 'blocks', type: 'int32', dims: ['steps'] }];
  const outputs = states.map((state) => ({ ...state, name: `${state.name}.next` }));
  const graph = new GraphBuilder('o');
  graph.nodes(
    'Scan',
    inputs.map(({ name }) => name),
    { body: { graph: stepBody(m, states, learningRate) }, num_scan_inputs: { int: 1 } },
    outputs.map(({ name }) => name),
  );
  const data: ValueInfo[] = [
    { name: 'features', type: 'uint8', dims: ['count', m.batch, m.dims[0]!] },
    { name: 'labels', type: 'int32', dims: ['count', m.batch] },
  ];
  return encodeModel(graph.encode('float_train', [...data, ...inputs], outputs));
}

function stepBody(m: Manifest, states: readonly ValueInfo[], learningRate: number): Uint8Array {
  const graph = new GraphBuilder('s');
  const scales = layerScales(m);
  const cast = graph.node('Cast', [graph.node('Gather', ['features', 'step.block'])], { to: { int: 1 } });
  const activations = [graph.node('Mul', [cast, graph.scalar(1 / 256, 'float32')])];
  for (const { layer, isLast } of scales) {
    const z = graph.node('Gemm', [activations.at(-1)!, `step.W${layer}`, `step.b${layer}`]);
    activations.push(isLast ? graph.node('Softmax', [z]) : graph.node('Relu', [z]));
  }
  const labels = graph.node('Gather', ['labels', 'step.block']);
  const classes = m.dims.at(-1)!;
  const identity = Float32Array.from({ length: classes ** 2 }, (_, i) => (i % (classes + 1) === 0 ? 1 : 0));
  const oneHot = graph.node('Gather', [graph.float32([classes, classes], identity), labels]);
  let G = graph.node('Sub', [activations.at(-1)!, oneHot]);
  const rate = learningRate / m.batch;
  const next: string[] = [];
  for (const { layer } of [...scales].reverse()) {
    const [W, b, A] = [`step.W${layer}`, `step.b${layer}`, activations[layer - 1]!];
    const sum = graph.node('ReduceSum', [G, graph.axes(0)], { keepdims: { int: 0 } });
    const change = graph.node('Mul', [sum, graph.scalar(rate, 'float32')]);
    next.unshift(
      graph.node('Gemm', [A, G, W], { alpha: { float: -rate }, transA: { int: 1 } }),
      graph.node('Sub', [b, change]),
    );
    if (layer === 1) break;
    const H = graph.node('Gemm', [G, W], { transB: { int: 1 } });
    G = graph.node('Where', [graph.node('Greater', [A, graph.scalar(0, 'float32')]), H, graph.scalar(0, 'float32')]);
  }
  return graph.encode(
    'float_step',
    [
      ...states.map((state) => ({ ...state, name: `step.${state.name}` })),
      { name: 'step.block', type: 'int32', dims: [] },
    ],
    states.map((state, index) => ({ ...state, name: next[index]! })),
  );
}
