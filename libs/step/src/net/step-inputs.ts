/** Numbers that one step of the training graph is run with (libs/step/SPEC.md §26). */
import type { NetLayer } from './edge.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';

/** The optimizer's: step size, learning rate, decay. */
export function stepScalars(m: NetManifest, step: number): readonly number[] {
  const { kind, members } = netOf(m).optimizer;
  return kind.scalars(members, step);
}

/** A layer's, of those whose op asks for some. */
export function stepInputs(layer: NetLayer, step: number): readonly number[] {
  return netOps[layer.op]!.perStep!.values(layer, step);
}
