/** Trains a part in float32: same start, order, schedule and steps; no rounding, and nothing saturates. */
import { elementTypeOf, InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import {
  blocksOfSteps,
  drawnParameters,
  netOf,
  orderSize,
  stepScalars,
  type NetExamples,
  type NetManifest,
} from '#libs/step';
import { buildFloatForwardGraph, buildFloatNetGraph } from '../float-net-graph.js';
import { adaptedFrom } from './adapt.js';
import type { Part, Training } from './task.js';

interface RealTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

/** @returns real outputs of the records to test on, row-major */
export async function floatOutputs(part: Part): Promise<Float32Array> {
  const { manifest, test, base } = part;
  const drawn = drawn32(manifest);
  const parameters = await trained(part, base === undefined ? drawn : adaptedFrom(drawn, await trained(base)));
  return outputs(manifest, parameters, test);
}

const stepsOfCall = 100;
const rowsOfCall = 250;

/** @returns all parameters after the last step */
async function trained({ manifest: m, examples }: Training, start = drawn32(m)): Promise<readonly RealTensor[]> {
  const { model, states } = buildFloatNetGraph(m);
  const session = await InferenceSession.create(model, sessionOptions(1));
  const byName = new Map(start.map(({ name, tensor }) => [name, tensor]));
  const trainable = new Set(states.map(({ name }) => name));
  const frozen = tensorsOf(start.filter(({ name }) => !trainable.has(name)));
  const zeros = (dims: readonly number[]) => new Tensor('float32', new Float32Array(sizeOf(dims)), dims);
  let state = Object.fromEntries(states.map(({ name, dims }) => [name, byName.get(name) ?? zeros(dims as number[])]));
  const data = blocksOf(m, examples);
  for (let first = 0; first < m.steps; first += stepsOfCall) {
    const count = Math.min(stepsOfCall, m.steps - first);
    const rates = Float32Array.from({ length: count }, (_, i) => rateAt(m, first + i));
    const blocks = blocksOfSteps(m, first, count, examples.count);
    const turns = { rate: new Tensor('float32', rates, [count]), blocks: new Tensor('int32', blocks, [count]) };
    const result = await session.run({ ...data, ...frozen, ...state, ...turns });
    state = Object.fromEntries(states.map(({ name }) => [name, result[`${name}.next`] as Tensor]));
  }
  await session.release();
  return start.map(({ name, tensor }) => ({ name, tensor: state[name] ?? tensor }));
}

/** Real rate of a step: of `sgd-exact` on the gradient sum, of `adamw` on its step. */
function rateAt(m: NetManifest, step: number): number {
  const { e, lr } = m.optimizer as unknown as { readonly e: number; readonly lr?: { readonly frac: number } };
  return stepScalars(m, step)[0]! * 2 ** -(lr?.frac ?? e);
}

/** The exact net's start, as real numbers. */
function drawn32(m: NetManifest): readonly RealTensor[] {
  const { parameters } = netOf(m);
  return drawnParameters(m).map(({ name, dims, values }, at) => {
    const real = Float32Array.from(values, (value) => Number(value) * 2 ** -parameters[at]!.fraction);
    return { name, tensor: new Tensor('float32', real, dims) };
  });
}

/** Whole blocks of the records, as the graph reads them. */
function blocksOf(m: NetManifest, { count, features, labels }: NetExamples): Record<string, Tensor> {
  const blocks = orderSize(m, count).epochSteps;
  const used = <T extends Uint8Array | Int16Array | Int32Array>(all: T) =>
    all.subarray(0, (all.length / count) * blocks * m.batch) as T;
  return {
    features: new Tensor(elementTypeOf(m), used(features), [blocks, m.batch, ...m.input.shape]),
    labels: new Tensor('int32', used(labels), [blocks, m.batch, ...m.labelShape]),
  };
}

async function outputs(
  m: NetManifest,
  parameters: readonly RealTensor[],
  { count, features }: NetExamples,
): Promise<Float32Array> {
  const session = await InferenceSession.create(buildFloatForwardGraph(m), sessionOptions(1));
  const width = features.length / count;
  const all: number[] = [];
  for (let first = 0; first < count; first += rowsOfCall) {
    const rows = Math.min(rowsOfCall, count - first);
    const part = features.subarray(first * width, (first + rows) * width);
    const input = new Tensor(elementTypeOf(m), part, [rows, ...m.input.shape]);
    const { output } = await session.run({ features: input, ...tensorsOf(parameters) });
    for (const value of output!.data as Float32Array) all.push(value);
  }
  await session.release();
  return Float32Array.from(all);
}

const tensorsOf = (tensors: readonly RealTensor[]): Record<string, Tensor> =>
  Object.fromEntries(tensors.map(({ name, tensor }) => [name, tensor]));

const sizeOf = (dims: readonly number[]): number => dims.reduce((product, dim) => product * dim, 1);
