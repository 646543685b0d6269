/**
 * Stochastic gradient descent on quantised gradients (libs/step/SPEC.md §24): `W' = W − RS(λ_t·s, gq + ℓ − w) − wd`, with
 * s = h, or with momentum `1 − b·2^-q` s = `m1' = m1 − RS(b·m1, q) + h`.
 */
import { floorDiv, roundShift } from '../../integers.js';
import { bound, roundingValue } from '../edge.js';
import { parseFactor, type Factor } from './factor.js';
import type { NetOptimizer } from './optimizer.js';
import {
  emitGradients,
  emitStepped,
  parseQuantised,
  quantisedBounds,
  quantisedFaces,
  quantisedGradients,
  quantisedMembers,
  stepped,
  type Quantised,
} from './quantised.js';
import { largestRate } from './schedule.js';

interface Sgd extends Quantised {
  readonly momentum?: Factor;
}

export const sgd: NetOptimizer<Sgd> = {
  ...quantisedFaces,
  members: ['momentum', ...quantisedMembers],
  parse: (read) => ({
    ...(read.has('momentum') && { momentum: parseFactor(read, 'momentum') }),
    ...parseQuantised(read),
  }),
  states: ({ momentum }) => (momentum === undefined ? [] : ['m1']),
  /** `|m1| ≤ 2^(hbits−1)·2^q/b`, of which m1 is a fixed point. */
  bounds(optimizer, parameters) {
    const { momentum: [b, q] = [1, 0], hbits, gq, lr } = optimizer;
    const top = 1n << BigInt(hbits - 1 + q);
    const largest = floorDiv(largestRate(lr) * top, BigInt(b));
    return [
      ...quantisedBounds(optimizer, parameters, { rule: 'SGD', largest, shift: gq }),
      bound('SGD', 'optimizer.momentum', roundingValue(top, q)),
    ];
  },
  update(optimizer, moved, step) {
    const { momentum, gq } = optimizer;
    const gradients = quantisedGradients(optimizer, moved);
    return moved.map((one, at) => {
      const h = gradients[at]!;
      if (momentum === undefined) return { W: stepped(optimizer, one, h, { step, shift: gq }), state: [] };
      const [b, q] = momentum;
      const m1 = one.state[0]!.map((m, i) => m - roundShift(BigInt(b) * m, q) + h[i]!);
      return { W: stepped(optimizer, one, m1, { step, shift: gq }), state: [m1] };
    });
  },
  moved: () => [''],
  emit(e, optimizer, groups, scalars) {
    const { momentum, gq } = optimizer;
    const to = { scalars, shift: gq };
    const gradients = emitGradients(e, optimizer, groups);
    return groups.map((one, at) => {
      const h = gradients[at]!;
      if (momentum === undefined) return { W: emitStepped(e, optimizer, one, h, to), state: [] };
      const [b, q] = momentum;
      const m = one.carried.state[0]!;
      const m1 = e.add(e.sub(m, e.roundedScaled(m, b * 2 ** -q, q)), h);
      return { W: emitStepped(e, optimizer, one, m1, to), state: [m1] };
    });
  },
  unprovable: () => ['a quantised gradient has no step proof; the gradient step of an fxt 1 manifest has'],
};
