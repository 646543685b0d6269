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

/** Layers that ask for numbers of each step, and how many. */
export function stepInputSizes(m: NetManifest): readonly { readonly layer: NetLayer; readonly size: number }[] {
  return netOf(m).layers.flatMap((layer) => {
    const size = netOps[layer.op]!.perStep?.size;
    return size === undefined ? [] : [{ layer, size }];
  });
}
