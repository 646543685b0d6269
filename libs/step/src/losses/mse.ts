/**
 * Gradient of the squared loss, `G_L = RS(Y_L, a_L − g_L) − 2^g_L·[c = y]`, guarded to gbits (libs/step/SPEC.md §5).
 */
import { roundShift } from '../integers.js';
import { mapMatrix } from '../matrix.js';
import { roundingAddend } from '../ops/rounding.js';
import type { LossKind } from './loss.js';
import { emitOneHot } from './one-hot.js';

export interface Mse {
  readonly kind: 'mse';
}

export const mse: LossKind<Mse> = {
  members: ['kind'],
  parse: () => ({ kind: 'mse' }),
  check: () => undefined,
  faces(_, { gbits, ...m }) {
    const [a, g, classes] = [m.a.at(-1)!, m.g.at(-1)!, m.dims.at(-1)!];
    const s = a - g;
    return {
      errorMax: 2 ** (gbits - 1),
      isGuarded: true,
      bounds: () => [],
      gradient(Y, labels) {
        const one = 1n << BigInt(g);
        const G = mapMatrix(
          Y,
          (y, i) => roundShift(y, s) - (labels[Math.floor(i / Y.columns)] === i % Y.columns ? one : 0n),
        );
        return { G };
      },
      emit(graph, Y, labels) {
        const scaled = graph.node('Mul', [Y, graph.scalar(2 ** -s)]);
        const sum = graph.node('Add', [scaled, emitOneHot(graph, classes, -(2 ** g), roundingAddend(s), labels)]);
        return s > 0 ? graph.node('Floor', [sum]) : sum;
      },
      unprovable: () => [],
      figure: (_ofLabel, squares) => squares / 4 ** g,
    };
  },
};
