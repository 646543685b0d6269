/** Softmax cross-entropy: per row the maximum, the exponentials of the distances to it, and the reciprocal of their sum. */
import type { BaseArray, ExtArray } from '../../commit/backend.js';
import { tiled } from '../lookup-vector.js';
import { rowSlice, slice, type Slice } from '../step-state.js';
import { lifted } from '../sumcheck-script.js';
import { count, logitCount, type ExecutedLoss } from './loss.js';

export const softmaxCe: ExecutedLoss = {
  run(state) {
    const { shape, columns } = state;
    const { classes, expVars, expValues, samples, reciprocalBits, lossFraction } = shape;
    const [whole, reciprocal, tableEnd] = [2 ** lossFraction, 2 ** reciprocalBits, 2 ** expVars];
    const rounding = 2 ** (reciprocalBits - lossFraction);
    const last = shape.layers.length;
    const Y = slice(state, columns.virtual, `Y${last}`, last);
    const labels = slice(state, columns.data, 'Y', last);
    const [d, eps, sel, G, w] = (['d', 'eps', 'sel', 'GL', 'w'] as const).map((name) =>
      slice(state, columns.witness, name, last),
    ) as [Slice, Slice, Slice, Slice, Slice];
    const E = slice(state, columns.virtual, 'E', last);
    const [mu, iota] = [rowSlice(state, columns.witness, 'mu'), rowSlice(state, columns.witness, 'iota')];
    const [S, Q] = [rowSlice(state, columns.virtual, 'S'), rowSlice(state, columns.virtual, 'Q')];
    for (let b = 0; b < samples; b++) {
      let best = 0;
      for (let c = 1; c < classes; c++) if (Y.data[Y.at(c) + b]! > Y.data[Y.at(best) + b]!) best = c;
      mu[b] = Y.data[Y.at(best) + b]!;
      S[b] = 0;
      for (let c = 0; c < classes; c++) {
        const distance = mu[b]! - Y.data[Y.at(c) + b]!;
        d.data[d.at(c) + b] = distance;
        sel.data[sel.at(c) + b] = c === best ? 1 : 0;
        w.data[w.at(c) + b] = distance < tableEnd ? 1 : 0;
        eps.data[eps.at(c) + b] = expValues[distance] ?? 0;
        S[b]! += eps.data[eps.at(c) + b]!;
      }
      iota[b] = Math.floor(reciprocal / S[b]!);
      Q[b] = iota[b]! * S[b]!;
      for (let c = 0; c < classes; c++) {
        const product = eps.data[eps.at(c) + b]! * iota[b]!;
        E.data[E.at(c) + b] = product;
        const p = Math.floor((product + rounding / 2) / rounding);
        G.data[G.at(c) + b] = p - whole * labels.data[labels.at(c) + b]!;
      }
    }
  },
  logit(witness) {
    const [mu, d] = [witness.get('mu')!, witness.get('d')!];
    return (i) => mu[i % mu.length]! - d[i]!;
  },
  countLookups(shape, { witness, virtual, data }, range) {
    const mE = new Float64Array(2 ** shape.expVars);
    const [d, GL, w] = (['d', 'GL', 'w'] as const).map((name) => witness.get(name)!);
    const [E, Y] = [virtual.get('E')!, data.get('Y')!];
    const [end, tableEnd, whole] = [logitCount(shape), 2 ** shape.expVars, 2 ** shape.lossFraction];
    for (let i = 0; i < end; i++) {
      if (w![i] === 1) count(mE, d![i]!);
      else count(range, d![i]! - tableEnd);
      const p = GL![i]! + whole * Y[i]!;
      count(range, E[i]! + 2 ** 15 - 2 ** 16 * p);
      count(range, p);
    }
    const [iota, S, Q] = [witness.get('iota')!, virtual.get('S')!, virtual.get('Q')!];
    for (let i = 0; i < iota.length; i++) {
      const remainder = 2 ** shape.reciprocalBits - Q[i]!;
      count(range, iota[i]! - 1);
      count(range, remainder);
      count(range, S[i]! - 1 - remainder);
    }
    return new Map([['mE', mE]]);
  },
  products(cells) {
    const { backend, plan } = cells;
    const { pieces, steps, samples } = plan.shape;
    const rowSize = steps * samples;
    const lift = (values: BaseArray): ExtArray => lifted(backend, values);
    const iota = cells.block('S', 'iota');
    const logits = pieces.flatMap(({ start, bits }) => {
      const slice = (name: string): ExtArray =>
        lift(cells.block('S', name).subarray(start * rowSize, (start + 2 ** bits) * rowSize));
      return [
        { f: slice('eps'), g: lift(tiled(backend, iota, rowSize * 2 ** bits)) },
        { f: slice('sel'), g: slice('d') },
      ];
    });
    return [...logits, { f: lift(iota), g: lift(cells.virtual('S')) }];
  },
};
