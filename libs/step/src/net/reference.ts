/** One training step of a net over BigInt, straight from libs/step/SPEC.md §21 to §24: the oracle of every faster implementation. */
import { refuse, GuardViolation } from '../errors.js';
import { clamp, roundShift } from '../integers.js';
import type { Weights } from '../tensors.js';
import type { NetLayer, NetParameter } from './edge.js';
import type { NetExamples } from './examples.js';
import { netOf } from './manifest.js';
import type { Net, NetManifest } from './net.js';
import { netOps } from './ops/index.js';
import type { ParameterValues, Passed, ReferenceRun } from './ops/op.js';
import { guardMax, trainedShapes } from './state.js';
import { tensorOf, type IntTensor } from './tensor.js';
import { sizeOf } from '../tensors.js';

interface NetStep {
  /** State after the step. */
  readonly state: Weights;
  /** Output edge before the loss, [B, …]. */
  readonly output: IntTensor;
  /** Error of the output edge. */
  readonly error: IntTensor;
  /** By edge, of those that an error reaches. */
  readonly errors: ReadonlyMap<string, IntTensor>;
  /** By edge, the input's too. */
  readonly values: ReadonlyMap<string, IntTensor>;
}

/**
 * @param state  before the step, with the optimizer's tensors
 * @param frozen parameters that are not trained
 * @param step   of the job, from 0
 * @throws Rejection BATCH_SIZE; GuardViolation GUARD_VIOLATION
 */
export function netStepReference(
  m: NetManifest,
  state: Weights,
  frozen: Weights,
  batch: NetExamples,
  step: number,
): NetStep {
  const net = netOf(m);
  if (batch.count !== m.batch) refuse('BATCH_SIZE', `${m.batch} examples`, batch.count, 'libs/step/SPEC.md §21');
  const run = referenceRun(net, step);
  const values = valuesOf(net, [...state, ...frozen]);
  const passes = forward(net, values, batch, run);
  const output = passes.get(net.output.id)!.output;
  const { kind, members, place } = net.loss;
  const error = kind.gradient(members, place, output, batch.labels, run);
  const { gradients, errors } = backward(net, values, passes, error, run);
  const edges = new Map(Array.from(passes, ([id, pass]) => [id, pass.output]));
  return { state: updated(net, state, gradients, step), output, error, errors, values: edges };
}

/** Outputs of a net for some records, as evaluation and predictions have them: dropout is off, and nothing is guarded. */
export function netForwardReference(m: NetManifest, parameters: Weights, batch: NetExamples): IntTensor {
  const net = netOf(m);
  const run = referenceRun(net, null);
  return forward(net, valuesOf(net, parameters), batch, run).get(net.output.id)!.output;
}

/** @param step null: of no step, so that every edge saturates (libs/step/SPEC.md §29) */
function referenceRun({ manifest: { overflow } }: Net, step: number | null): ReferenceRun {
  return {
    step,
    sat(x, layer, bits = 16) {
      const high = (1n << BigInt(bits - 1)) - 1n;
      const cut = clamp(x, -high - 1n, high);
      if (cut !== x && overflow === 'fail' && step !== null) {
        throw new GuardViolation(step, layer, `${-high - 1n}..${high}`, String(x));
      }
      return cut;
    },
  };
}

type Values = ReadonlyMap<string, ParameterValues>;

function valuesOf({ layers }: Net, tensors: Weights): Values {
  const byName = new Map(tensors.map(({ name, values }) => [name, Array.from(values)]));
  return new Map(
    layers.map(({ id, parameters: { W, b } }) => {
      const master = W && byName.get(W.name)!;
      return [
        id,
        {
          ...(master && { W: master, Wc: master.map((value) => roundShift(value, W.fraction - W.compute)) }),
          ...(b && { b: byName.get(b.name)! }),
        },
      ];
    }),
  );
}

function forward(
  { manifest, layers }: Net,
  values: Values,
  { count, features }: NetExamples,
  run: ReferenceRun,
): ReadonlyMap<string, Passed> {
  const first = tensorOf([count, ...manifest.input.shape], (index) => BigInt(features[index]!));
  const passes = new Map<string, Passed>([['input', { inputs: [], output: first, saved: {} }]]);
  for (const layer of layers) {
    const inputs = layer.inputs.map(({ id }) => passes.get(id)!.output);
    passes.set(layer.id, { inputs, ...netOps[layer.op]!.forward(layer, inputs, values.get(layer.id)!, run) });
  }
  return passes;
}

/** Exact gradient sums by parameter, and errors by edge. Errors that meet on an edge are added in descending order of its readers. */
function backward(
  { layers }: Net,
  values: Values,
  passes: ReadonlyMap<string, Passed>,
  error: IntTensor,
  run: ReferenceRun,
): { readonly gradients: ReadonlyMap<string, readonly bigint[]>; readonly errors: ReadonlyMap<string, IntTensor> } {
  const errors = new Map<string, IntTensor>([[layers.at(-1)!.id, error]]);
  const gradients = new Map<string, readonly bigint[]>();
  for (const layer of layers.toReversed()) {
    const G = errors.get(layer.id);
    if (!layer.output.hasError || G === undefined) continue;
    const wanted = layer.inputs.map((edge) => edge.hasError);
    const flow = netOps[layer.op]!.backward(layer, G, passes.get(layer.id)!, values.get(layer.id)!, wanted, run);
    for (const [role, D] of Object.entries(flow.gradients)) gradients.set(`${layer.id}.${role}`, D);
    flow.inputs.forEach((dx, i) => {
      if (dx !== undefined) meet(errors, layer, i, dx, run);
    });
  }
  return { gradients, errors };
}

function meet(errors: Map<string, IntTensor>, layer: NetLayer, input: number, dx: IntTensor, run: ReferenceRun): void {
  const { id } = layer.inputs[input]!;
  const sum = errors.get(id);
  errors.set(
    id,
    sum === undefined ? dx : { dims: sum.dims, data: sum.data.map((value, i) => run.sat(value + dx.data[i]!, id)) },
  );
}

function updated(
  { manifest, optimizer }: Net,
  state: Weights,
  gradients: ReadonlyMap<string, readonly bigint[]>,
  step: number,
): Weights {
  const trained = trainedShapes(manifest);
  const kinds = optimizer.kind.states(optimizer.members);
  const values = new Map(state.map((tensor) => [tensor.name, Array.from(tensor.values)]));
  const moved = trained.map((parameter) => ({
    parameter,
    W: values.get(parameter.name)!,
    D: gradients.get(parameter.name) ?? new Array<bigint>(sizeOf(parameter.dims)).fill(0n),
    state: kinds.map((kind) => values.get(`${kind}.${parameter.name}`)!),
  }));
  const next = optimizer.kind.update(optimizer.members, moved, step);
  next.forEach(({ W }, i) => guardWeights(trained[i]!, W, step));
  const tensor = ({ name, dims }: NetParameter, kind: string, data: readonly bigint[]): Weights[number] => ({
    ...{ name: `${kind}${name}`, dims, values: BigInt64Array.from(data) },
  });
  return [
    ...next.map(({ W }, i) => tensor(trained[i]!, '', W)),
    ...kinds.flatMap((kind, at) => next.map((one, i) => tensor(trained[i]!, `${kind}.`, one.state[at]!))),
  ];
}

function guardWeights(parameter: NetParameter, W: readonly bigint[], step: number): void {
  const high = guardMax(parameter);
  for (const value of W) {
    if (value > high || value < -high) throw new GuardViolation(step, parameter.name, `±${high}`, String(value));
  }
}
