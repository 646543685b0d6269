/**
 * Exact stochastic gradient descent (libs/step/SPEC.md §7, §24): `W' = W − m_t·D`, or with momentum `1 − 2^-q`
 * `V' = V − RS(V, q) + D`, `W' = W − m_t·V'`.
 */
import { refuse } from '../../errors.js';
import { roundShift } from '../../integers.js';
import { bound } from '../edge.js';
import type { NetOptimizer } from './optimizer.js';

interface SgdExact {
  readonly e: number;
  /** [fromStep, m], fromStep rising from 0. */
  readonly m: readonly (readonly [number, number])[];
  readonly q?: number;
}

export const sgdExact: NetOptimizer<SgdExact> = {
  members: ['e', 'm', 'q'],
  parse(read) {
    const m = read.pairs('m', 1024, 0, 1_000_000_000);
    m.forEach(([from, size], i) => {
      const rises = i === 0 ? from === 0 : from > m[i - 1]![0];
      if (!rises || size < 1 || size > 255) {
        refuse('MANIFEST_SCHEDULE', 'fromStep rising from 0 and m in 1..255', [from, size], 'libs/step/SPEC.md §3');
      }
    });
    const q = read.optionalInteger('q', 1, 16);
    return { e: read.integer('e', 0, 40), m, ...(q !== undefined && { q }) };
  },
  hasMasters: false,
  fraction: ({ e }, { gradientFraction }) => gradientFraction + e,
  states: ({ q }) => (q === undefined ? [] : ['V']),
  bounds: (optimizer, parameters) =>
    parameters.flatMap(({ name, fraction, wint, gradientMax }) => {
      const { m, q = 0 } = optimizer;
      const largest = BigInt(Math.max(...m.map(([, size]) => size)));
      const whole = (1n << BigInt(fraction + wint)) + ((largest * gradientMax) << BigInt(q));
      return [bound('GRADIENT', name, whole), bound('GRADIENT', name, (gradientMax << BigInt(q)) + (1n << BigInt(q)))];
    }),
  scalars: ({ m }, step) => [m.findLast(([from]) => from <= step)![1]],
  update(optimizer, moved, step) {
    const { q } = optimizer;
    const size = BigInt(this.scalars(optimizer, step)[0]!);
    return moved.map(({ W, D, state: [V] }) => {
      const next = q === undefined ? D : V!.map((v, i) => v - roundShift(v, q) + D[i]!);
      return { W: W.map((value, i) => value - size * next[i]!), state: q === undefined ? [] : [next] };
    });
  },
  emit: (e, { q }, groups, [size]) =>
    groups.map(
      ({
        W,
        D: [D],
        carried: {
          state: [V],
        },
      }) => {
        if (q === undefined) return { W: e.rowSums.descended(W, D!, size!), state: [] };
        const next = e.add(e.sub(V!, e.round(V!, q)), e.rowSums.value(D!));
        return { W: e.sub(W, e.mul(next, size!)), state: [next] };
      },
    ),
  unprovable: ({ q }) => (q === undefined ? [] : ['momentum has no step proof']),
};
