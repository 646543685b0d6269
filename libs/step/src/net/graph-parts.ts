/** What the training graph and the forward graph of a net share (libs/step/SPEC.md §26). */
import type { NetParameter } from './edge.js';
import type { NetEmitter } from './emitter.js';
import type { Net } from './net.js';
import { netOps } from './ops/index.js';
import type { EmittedPass, ParameterNames } from './ops/op.js';

/** Masters by name to what the ops read: `RS(W, w − c)` of weights, biases as they are. By layer. */
export function computeCopies(
  e: NetEmitter,
  parameters: readonly NetParameter[],
  prefix: string,
): Map<string, ParameterNames> {
  const names = new Map<string, ParameterNames>();
  for (const { name, layer, role, fraction, compute } of parameters) {
    const master = `${prefix}${name}`;
    const named = role === 'W' ? { Wc: e.round(master, fraction - compute) } : { b: master };
    names.set(layer, { ...names.get(layer), ...named });
  }
  return names;
}

/** @param features name of the records' features, in their own element type */
export function emitForward(
  e: NetEmitter,
  { layers, input }: Net,
  features: string,
  parameters: ReadonlyMap<string, ParameterNames>,
): Map<string, EmittedPass> {
  const numbers = input.element === 'uint8' ? e.fromBytes(features) : e.cast(features, 'float64');
  const first = input.element === 'token' ? features : numbers;
  const passes = new Map<string, EmittedPass>([['input', { inputs: [], output: first, saved: {} }]]);
  for (const layer of layers) {
    const inputs = layer.inputs.map(({ id }) => passes.get(id)!.output);
    const made = netOps[layer.op]!.emitForward(e, layer, inputs, parameters.get(layer.id) ?? {});
    passes.set(layer.id, { inputs, ...made });
  }
  return passes;
}
