/** The layers of a transformer as ordinary float32 nodes: near to what the integers say (libs/step/SPEC.md §27). */
import { expect, it } from 'vitest';
import { InferenceSession, Tensor } from '#libs/onnx';
import {
  netForwardReference,
  netOf,
  parameterShapes,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { encodeModel, GraphBuilder } from '../../libs/step/src/onnx/graph-builder.js';
import { FloatEmitter } from '../../libs/step/src/net/float-emitter.js';
import { netOps } from '../../libs/step/src/net/ops/index.js';
import { randomExamples, randomParameters, seeded, smallNet } from '#test/net-agreement';

async function floatForward(m: NetManifest, parameters: Weights, { features }: NetExamples): Promise<Float32Array> {
  const { layers, input, output } = netOf(m);
  const fractions = new Map(parameterShapes(m).map(({ name, fraction }) => [name, fraction]));
  const graph = new GraphBuilder('f');
  const f = new FloatEmitter(graph, (name) => {
    const { values } = parameters.find((tensor) => tensor.name === name)!;
    return Float32Array.from(values, (value) => Number(value) * 2 ** -fractions.get(name)!);
  });
  const edges = new Map([['input', 'features']]);
  for (const layer of layers) {
    const inputs = layer.inputs.map(({ id }) => edges.get(id)!);
    edges.set(layer.id, netOps[layer.op]!.emitFloat(f, layer, inputs));
  }
  graph.node('Identity', [edges.get(output.id)!], {}, 'output');
  const isTokens = input.element === 'token';
  const dims = [m.batch, ...input.shape];
  const model = graph.encode(
    'float',
    [{ name: 'features', type: isTokens ? 'int32' : 'float32', dims }],
    [{ name: 'output', type: 'float32', dims: [m.batch, ...output.shape] }],
  );
  const session = await InferenceSession.create(encodeModel(model));
  const feed = isTokens
    ? new Tensor('int32', Int32Array.from(features), dims)
    : new Tensor(
        'float32',
        Float32Array.from(features, (value) => value * 2 ** -input.a),
        dims,
      );
  const result = await session.run({ features: feed });
  await session.release();
  return result['output']!.data as Float32Array;
}

const records = { input: { shape: [5, 4], dtype: 'int16', frac: 10 }, labelShape: [5], a: 11, wint: 1 };
const qkv = ['q', 'k', 'v'].map((id) => ({ op: 'dense', id, in: 'input', out: 6, bias: false }));
const attention = { op: 'attention', in: ['q', 'k', 'v'], heads: 2, E: 15, k: 34 };

it.each([
  ['rmsnorm', [{ op: 'rmsnorm' }], records],
  ['layernorm', [{ op: 'layernorm' }], records],
  ['rmsnorm with an eps that is felt', [{ op: 'rmsnorm', eps: 2 ** 26 }], records],
  ['layernorm with an eps that is felt', [{ op: 'layernorm', eps: 2 ** 26 }], records],
  ['attention', [...qkv, { ...attention, causal: false }], records],
  ['causal attention', [...qkv, { ...attention, causal: true }], records],
  [
    'an embedding with positions',
    [{ op: 'embedding', vocab: 7, out: 4 }, { op: 'position' }],
    { input: { shape: [5], tokens: true }, labelShape: [5], a: 11, wint: 1 },
  ],
])('%s', async (_, layers, more) => {
  const m = smallNet(layers, more);
  const next = seeded(7);
  const parameters = randomParameters(m, next, 0.5);
  const examples = randomExamples(m, next, 2 ** -4, 7);
  const exact = netForwardReference(m, parameters, examples).data.map((value) => Number(value) * 2 ** -m.a);
  const float = await floatForward(m, parameters, examples);
  expect(Math.max(...exact.map(Math.abs))).toBeGreaterThan(0.25);
  exact.forEach((value, i) => expect(Math.abs(value - float[i]!)).toBeLessThan(0.01));
});
