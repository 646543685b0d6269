/** Why the steps of a net have no step proof (libs/step/SPEC.md §21, §22). */
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';

/** Why no step proof covers the net, one line each: `<layer>: <reason>`, and what of the whole manifest stands in the way. */
export function netProvability(m: NetManifest): readonly string[] {
  const { layers, loss, optimizer } = netOf(m);
  return [
    ...layers.flatMap((layer) => netOps[layer.op]!.unprovable(layer).map((reason) => `${layer.id}: ${reason}`)),
    ...loss.kind.unprovable().map((reason) => `loss: ${reason}`),
    ...optimizer.kind.unprovable(optimizer.members).map((reason) => `optimizer: ${reason}`),
    ...(m.overflow === 'fail' ? [] : [`overflow: ${m.overflow} has no step proof; fail has`]),
    ...(m.stop === null ? [] : ['stop: a job that a rule may end has no step proof']),
  ];
}
