/** The ordinary float32 form of the ops of maps says nearly what their integers say (libs/step/SPEC.md §27). */
import { expect, it } from 'vitest';
import { InferenceSession, Tensor } from '#libs/onnx';
import { drawnParameters, netForwardReference, netOf, parameterShapes, type NetManifest } from '#libs/step';
import { randomExamples, seeded, smallNet } from '#test/net-agreement';
import { FloatEmitter } from '../../libs/step/src/net/float-emitter.js';
import { netOps } from '../../libs/step/src/net/ops/index.js';
import { encodeModel, GraphBuilder } from '../../libs/step/src/onnx/graph-builder.js';

/** Model of a net from real features to real outputs. */
function floatModel(m: NetManifest): Uint8Array {
  const net = netOf(m);
  const drawn = new Map(drawnParameters(m).map(({ name, values }) => [name, values]));
  const fractions = new Map(parameterShapes(m).map(({ name, fraction }) => [name, fraction]));
  const graph = new GraphBuilder('f');
  const f = new FloatEmitter(graph, (name) =>
    Float32Array.from(drawn.get(name)!, (value) => Number(value) * 2 ** -fractions.get(name)!),
  );
  const edges = new Map([['input', 'features']]);
  for (const layer of net.layers) {
    const inputs = layer.inputs.map(({ id }) => edges.get(id)!);
    edges.set(layer.id, netOps[layer.op]!.emitFloat(f, layer, inputs));
  }
  graph.node('Identity', [edges.get(net.output.id)!], {}, 'output');
  return encodeModel(
    graph.encode(
      'float',
      [{ name: 'features', type: 'float32', dims: ['rows', ...net.input.shape] }],
      [{ name: 'output', type: 'float32', dims: ['rows', ...net.output.shape] }],
    ),
  );
}

it.each([
  [
    'convolutions, pools and dropout',
    [
      { op: 'conv2d', k: [3, 2], stride: [2, 1], pad: [1, 0, 2, 1], out: 4 },
      { op: 'relu' },
      { op: 'maxpool', k: [2, 3] },
      { op: 'dropout', p16: 30_000 },
      { op: 'conv2d', k: [1, 2], out: 3, bias: false },
      { op: 'avgpool', k: [2, 1] },
      { op: 'flatten' },
    ],
    [12, 9, 2],
  ],
  ['gelu and silu', [{ op: 'dense', out: 5 }, { op: 'gelu' }, { op: 'dense', out: 5 }, { op: 'silu' }], [6]],
  ['tanh and sigmoid', [{ op: 'dense', out: 5 }, { op: 'tanh' }, { op: 'dense', out: 5 }, { op: 'sigmoid' }], [6]],
  ['a mean over places', [{ op: 'dense', out: 5 }, { op: 'meanpool' }], [4, 6]],
])('%s', async (_, layers, shape) => {
  const a = 13;
  const fine = layers.map((layer) =>
    ['relu', 'maxpool', 'dropout', 'flatten'].includes(layer.op) ? layer : { ...layer, a },
  );
  const m = smallNet([...fine, { op: 'dense', out: 3, a }], { a, input: { shape, dtype: 'int16', frac: 12 } });
  const examples = randomExamples(m, seeded(7), 0.1);
  const exact = netForwardReference(m, drawnParameters(m), examples).data.map((value) => Number(value) * 2 ** -a);
  const session = await InferenceSession.create(floatModel(m));
  try {
    const features = new Tensor(
      'float32',
      Float32Array.from(examples.features, (x) => x * 2 ** -12),
      [2, ...shape],
    );
    const { output } = await session.run({ features });
    const found = Array.from(output!.data as Float32Array);
    expect(Math.max(...exact.map(Math.abs))).toBeGreaterThan(0.05);
    expect(Math.max(...found.map((value, i) => Math.abs(value - exact[i]!)))).toBeLessThan(2 ** -10);
  } finally {
    await session.release();
  }
});
