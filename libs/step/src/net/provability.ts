/** Why the steps of a net have no step proof, and what a node must know to train it (libs/step/SPEC.md §21, §22). */
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';

/** Ops that this release trains, in the order of their names. */
export const netOpNames: readonly string[] = Object.keys(netOps).sort();

/** Ops of the net's layers, each once, in the order of their names. */
export function opsOf(m: NetManifest): readonly string[] {
  return [...new Set(netOf(m).layers.map(({ op }) => op))].sort();
}

/** Why no step proof covers the net, one line each: `<layer>: <reason>`, and what of the whole manifest stands in the way. */
export function netProvability(m: NetManifest): readonly string[] {
  const { layers, loss, optimizer } = netOf(m);
  return [
    ...layers.flatMap((layer) => netOps[layer.op]!.unprovable(layer).map((reason) => `${layer.id}: ${reason}`)),
    ...loss.kind.unprovable().map((reason) => `loss: ${reason}`),
    ...optimizer.kind.unprovable(optimizer.members).map((reason) => `optimizer: ${reason}`),
    ...(m.overflow === 'fail' ? [] : [`overflow: ${m.overflow} has no step proof`]),
    ...(m.stop === null ? [] : ['stop: a job that a rule may end has no step proof']),
  ];
}
