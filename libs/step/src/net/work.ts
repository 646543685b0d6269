/** How much a net computes: multiply-adds that follow from its shapes alone. */
import type { NetLayer } from './edge.js';
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { netOps } from './ops/index.js';
import { sizeOf } from '../tensors.js';

/** Multiply-adds of one record's forward pass. */
export function netMultiplyAdds(m: NetManifest): number {
  return netOf(m).layers.reduce((sum, layer) => sum + (netOps[layer.op]!.work?.(layer) ?? ofWeights(layer)), 0);
}

/** One for each weight at each place of the output. */
function ofWeights({ parameters: { W }, output: { shape } }: NetLayer): number {
  return W === undefined ? 0 : sizeOf(W.dims) * sizeOf(shape.slice(0, -1));
}
