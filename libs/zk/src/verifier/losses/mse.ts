/** The squared loss: G_L + 2^g_L·label is the logit, rounded by a lookup or shifted exactly. */
import { asError, asNarrowError, integer, minus, plus, shifted } from '../linear-form.js';
import { pieceAt, type VerifiedLoss } from './loss.js';

export const mse: VerifiedLoss = {
  logit: ({ cell }) => cell('YL'),
  pieceColumns: {
    gL: ({ cell }) => asError(cell('GL')),
    gLs: ({ cell, shape }) => asNarrowError(cell('GL'), shape.errorBits),
    rm({ cell, label, shape }) {
      const drop = shape.roundingShift;
      const rounded = plus(cell('YL'), integer(2 ** (drop - 1)));
      const output = plus(cell('GL'), shifted(label(), shape.lossFraction));
      return shifted(minus(rounded, shifted(output, drop)), 16 - drop);
    },
  },
  rowColumns: {},
  tables: {},
  products: () => [],
  /** Without rounding: G_L = 2^(g_L − a_L)·Y_L − 2^g_L·label. */
  facts(protocol, leafPoint) {
    const { roundingShift, lossFraction, pieces } = protocol.plan.shape;
    if (roundingShift > 0) return [];
    return pieces.map((piece) => {
      const { cell, label } = pieceAt(protocol, piece, leafPoint);
      const [logit, target] = [shifted(cell('YL'), -roundingShift), shifted(label(), lossFraction)];
      return minus(cell('GL'), minus(logit, target));
    });
  },
};
