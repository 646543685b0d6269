/** The squared loss: errors are rounded logits, guarded. */
import { guardOf, slice } from '../step-state.js';
import { count, logitCount, type ExecutedLoss } from './loss.js';

export const mse: ExecutedLoss = {
  run(state) {
    const { shape, columns } = state;
    const { classes, lossFraction: g, roundingShift, samples } = shape;
    const last = shape.layers.length;
    const [Y, labels] = [slice(state, columns.virtual, `Y${last}`, last), slice(state, columns.data, 'Y', last)];
    const [YL, G] = [slice(state, columns.witness, 'YL', last), slice(state, columns.witness, 'GL', last)];
    const guard = guardOf(state, `G${last}`);
    for (let c = 0; c < classes; c++) {
      for (let b = 0; b < samples; b++) {
        const y = Y.data[Y.at(c) + b]!;
        const rounded = Math.floor(y / 2 ** roundingShift + (roundingShift > 0 ? 0.5 : 0));
        const error = rounded - 2 ** g * labels.data[labels.at(c) + b]!;
        guard(error);
        YL.data[YL.at(c) + b] = y;
        G.data[G.at(c) + b] = error;
      }
    }
  },
  logit(witness) {
    const YL = witness.get('YL')!;
    return (i) => YL[i]!;
  },
  countLookups(shape, { witness, data }, range) {
    const { roundingShift: drop, lossFraction, errorBits: bits } = shape;
    const [GL, YL, Y] = [witness.get('GL')!, witness.get('YL')!, data.get('Y')!];
    for (let i = 0; i < logitCount(shape); i++) {
      const error = GL[i]!;
      count(range, error + 2 ** 15);
      if (bits < 16) count(range, 2 ** (16 - bits) * (error + 2 ** (bits - 1)));
      if (drop > 0) {
        const rest = YL[i]! + 2 ** (drop - 1) - 2 ** drop * (error + 2 ** lossFraction * Y[i]!);
        count(range, 2 ** (16 - drop) * rest);
      }
    }
    return new Map();
  },
  products: () => [],
};
