/** Hidden activation: ReLU that clips, and the mask that is its derivative (libs/step/SPEC.md §4). */
import { clamp } from '../integers.js';
import { mapMatrix } from '../matrix.js';
import type { Activation } from './op.js';

export const relu: Activation = {
  forward(Y, abits) {
    const max = (1n << BigInt(abits)) - 1n;
    return {
      A: mapMatrix(Y, (y) => clamp(y, 0n, max)),
      M: mapMatrix(Y, (y) => (y > 0n && y < max ? 1n : 0n)),
    };
  },
  emitForward: (graph, Y, abits) => graph.node('Clip', [Y, graph.scalar(0), graph.scalar(2 ** abits - 1)]),
  /** The mask is read off A: 0 < A < max exactly when 0 < Y < max. */
  emitMasked(graph, A, x, abits) {
    const positive = graph.node('Greater', [A, graph.scalar(0)]);
    const unclipped = graph.node('Less', [A, graph.scalar(2 ** abits - 1)]);
    return graph.node('Where', [graph.node('And', [positive, unclipped]), x, graph.scalar(0)]);
  },
  quickMax: (abits) => 2 ** abits - 2,
  emitQuickForward: (graph, Y) => graph.node('Relu', [Y]),
  emitQuickMasked: (graph, Y, x) => graph.node('Mul', [x, graph.node('Clip', [Y, graph.scalar(0), graph.scalar(1)])]),
  emitFloat(graph, x, abits, a) {
    const top = (2 ** abits - 1) * 2 ** -a;
    return graph.node('Clip', [x, graph.scalar(0, 'float32'), graph.scalar(top, 'float32')]);
  },
};
