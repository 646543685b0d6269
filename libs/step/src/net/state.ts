/**
 * The tensors of a net (libs/step/SPEC.md §24, §25): its parameters, and the state of training, which is the trainable
 * ones and what the optimizer keeps for them.
 */
import { hashPartsReference, sizeOf, stateParts, type HashParts, type Tensor, type Weights } from '../tensors.js';
import { below, wordStream, type HashMany } from '../random.js';
import { refuse } from '../errors.js';
import type { NetParameter } from './edge.js';
import { startMax } from './bounds.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';

export interface StateShape {
  /** `<layer>.W`, `<layer>.b`; of the optimizer's tensors `<state>.<layer>.W`. */
  readonly name: string;
  readonly dims: readonly number[];
  /** Of a parameter: the range at a border. Absent: the optimizer's own rules bound the tensor. */
  readonly range?: { readonly low: bigint; readonly high: bigint };
}

/** All parameters in layer order, frozen ones too. */
export function parameterShapes(m: NetManifest): readonly NetParameter[] {
  return netOf(m).parameters;
}

/** Bytes of all parameters in canonical form: what a file of start weights holds. */
export function parameterBytes(m: NetManifest): number {
  return 8 * parameterShapes(m).reduce((sum, { dims }) => sum + sizeOf(dims), 0);
}

/** Bytes of parameters from which a copy more or less of the state is what a net's memory depends on: 2^20 of them. */
const largeBytes = 8 << 20;

export function isLarge(m: NetManifest): boolean {
  return parameterBytes(m) >= largeBytes;
}

export function trainedShapes(m: NetManifest): readonly NetParameter[] {
  return netOf(m).parameters.filter(({ isFrozen }) => !isFrozen);
}

/** Largest magnitude that the guard lets a parameter have. */
export function guardMax({ fraction, wint }: NetParameter): bigint {
  return (1n << BigInt(fraction + wint)) - 1n;
}

/** The state in the order of its digest: trainable parameters, then the optimizer's tensors, one kind after the other. */
export function stateShapes(m: NetManifest): readonly StateShape[] {
  const { optimizer } = netOf(m);
  const trained = trainedShapes(m);
  return [
    ...trained.map((one) => ({
      ...{ name: one.name, dims: one.dims, range: { low: -guardMax(one), high: guardMax(one) } },
    })),
    ...optimizer.kind
      .states(optimizer.members)
      .flatMap((kind) => trained.map(({ name, dims }) => ({ name: `${kind}.${name}`, dims }))),
  ];
}

/** Start values of all parameters from the job's seed: one counter over all that draw. */
export function drawnParameters(m: NetManifest, hashMany?: HashMany): Weights {
  const word = wordStream('fxt/init/v1', m.seed, hashMany);
  let i = 0;
  return netOf(m).parameters.map((parameter) => {
    const { name, dims, draw } = parameter;
    const limit = startMax(parameter);
    const values = new BigInt64Array(sizeOf(dims));
    if (draw === undefined) return { name, dims, values: values.fill(limit) };
    for (let j = 0; j < values.length; j++) values[j] = below(word(i++), 2n * limit + 1n) - limit;
    return { name, dims, values };
  });
}

/** The state before step 0: the trainable parameters, and zeros for the optimizer. */
export function startState(m: NetManifest, parameters: Weights): Weights {
  checkParameters(m, parameters);
  const byName = new Map(parameters.map((tensor) => [tensor.name, tensor]));
  return stateShapes(m).map(
    ({ name, dims }) => byName.get(name) ?? { name, dims, values: new BigInt64Array(sizeOf(dims)) },
  );
}

/** The parameters that the job does not train. */
export function frozenOf(m: NetManifest, parameters: Weights): Weights {
  checkParameters(m, parameters);
  return parameters.filter((_, index) => netOf(m).parameters[index]!.isFrozen);
}

/** All parameters again from a state and the frozen ones. */
export function parametersOf(m: NetManifest, state: Weights, frozen: Weights): Weights {
  const byName = new Map([...state, ...frozen].map((tensor) => [tensor.name, tensor]));
  const parameters = netOf(m).parameters.map(({ name }) => byName.get(name));
  if (parameters.some((tensor) => tensor === undefined)) refuse('WEIGHTS_SHAPE', 'every parameter', 'fewer', rule);
  return parameters as readonly Tensor[];
}

/** What `start.root` names: the digest over all parameters in layer order. @throws Rejection WEIGHTS_SHAPE */
export function startRoot(m: NetManifest, parameters: Weights, hashParts: HashParts = hashPartsReference): Uint8Array {
  checkParameters(m, parameters);
  return hashParts(stateParts(parameters));
}

/** @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE unless these are all parameters of the net, within their guards */
export function checkParameters(m: NetManifest, parameters: Weights): void {
  const { parameters: shapes } = netOf(m);
  if (parameters.length !== shapes.length) refuse('WEIGHTS_SHAPE', `${shapes.length} tensors`, parameters.length, rule);
  shapes.forEach((shape, index) => {
    const { name, dims, values } = parameters[index]!;
    if (name !== shape.name || String(dims) !== String(shape.dims) || values.length !== sizeOf(shape.dims)) {
      refuse('WEIGHTS_SHAPE', `${shape.name} [${shape.dims.join()}]`, `${name} [${dims.join()}]`, rule);
    }
    const high = guardMax(shape);
    for (const value of values) {
      if (value > high || value < -high) refuse('WEIGHTS_RANGE', `${name} within ±${high}`, String(value), rule);
    }
  });
}

const rule = 'libs/step/SPEC.md §25';
