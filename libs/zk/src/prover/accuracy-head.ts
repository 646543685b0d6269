/** Accuracy: which records are classed right, and by how much each logit is below what bounds it. */
import type { BaseArray, ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import { rowSlice, slice } from './step-state.js';
import { lifted } from './sumcheck-script.js';
import { count, logitCount, type ExecutedLoss } from './losses/loss.js';

export const executedAccuracy: ExecutedLoss = {
  run(state) {
    const { shape, columns } = state;
    const { classes, samples } = shape;
    const last = shape.layers.length;
    const [Y, labels] = [slice(state, columns.virtual, `Y${last}`, last), slice(state, columns.data, 'Y', last)];
    const named = (name: string) => slice(state, columns.witness, name, last);
    const [YL, sel, q] = [named('YL'), named('sel'), named('q')];
    const v = rowSlice(state, columns.witness, 'v');
    for (let b = 0; b < samples; b++) {
      const logit = (c: number): number => Y.data[Y.at(c) + b]!;
      let best = 0;
      for (let c = 1; c < classes; c++) if (logit(c) > logit(best)) best = c;
      v[b] = logit(best);
      const isRight = labels.data[labels.at(best) + b] === 1;
      for (let c = 0; c < classes; c++) {
        YL.data[YL.at(c) + b] = logit(c);
        sel.data[sel.at(c) + b] = isRight && c === best ? 1 : 0;
        q.data[q.at(c) + b] = v[b]! - logit(c) - (isRight && c < best ? 1 : 0);
      }
    }
  },
  logit(witness) {
    const YL = witness.get('YL')!;
    return (i) => YL[i]!;
  },
  countLookups(shape, { witness }, range) {
    const [q, v] = [witness.get('q')!, witness.get('v')!];
    for (let i = 0; i < logitCount(shape); i++) count(range, q[i]!);
    for (const bound of v) count(range, bound + 2 ** 15);
    return new Map();
  },
  products(cells) {
    const { backend, plan } = cells;
    const { pieces, steps, samples } = plan.shape;
    const rowSize = steps * samples;
    return pieces.flatMap(({ start, bits }) => {
      const of = (block: BaseArray): BaseArray => block.subarray(start * rowSize, (start + 2 ** bits) * rowSize);
      const [sel, q, Y] = [of(cells.block('S', 'sel')), of(cells.block('S', 'q')), of(cells.labels())];
      const beyondLabel: ExtArray = backend.ext(sel.length);
      backend.combine(beyondLabel, [sel, Y], [F.ONE, F.neg(F.ONE)], F.ZERO);
      return [
        { f: lifted(backend, sel), g: beyondLabel },
        { f: lifted(backend, sel), g: lifted(backend, q) },
      ];
    });
  },
};
