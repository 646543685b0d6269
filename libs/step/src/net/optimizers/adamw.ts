/**
 * AdamW on quantised gradients (libs/step/SPEC.md §24), without bias correction:
 * `m1' = m1 + RS((h·2^c1 − m1)·b1, q1)`, `m2' = m2 + RS((h²·2^c2 − m2)·b2, q2)`,
 * `U = CLAMP(DIVR(m1'·2^(u + c2/2 − c1), ISQRT(m2') + eps), ±2^(u+3))`, `W' = W − RS(λ_t·U, u + ℓ − w) − wd`.
 */
import { refuse } from '../../errors.js';
import { clamp, divRound, isqrt, roundShift } from '../../integers.js';
import { bound, roundingValue, type NetBound } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { parseFactor, type Factor } from './factor.js';
import type { NetOptimizer } from './optimizer.js';
import {
  emitStepped,
  emitUpdates,
  parseQuantised,
  quantisedBounds,
  quantisedFaces,
  quantisedGradients,
  quantisedMembers,
  stepped,
  type Quantised,
} from './quantised.js';
import { largestRate } from './schedule.js';

interface AdamW extends Quantised {
  readonly beta1: Factor;
  readonly beta2: Factor;
  /** Bits that `m1` and `m2` have more than `h` and `h²`; c2 is even. */
  readonly c1: number;
  readonly c2: number;
  /** Fraction of `U`. */
  readonly u: number;
  /** Beside the root of `m2`, at its fraction. */
  readonly eps: number;
}

export const adamw: NetOptimizer<AdamW> = {
  ...quantisedFaces,
  members: ['beta1', 'beta2', 'c1', 'c2', 'u', 'eps', ...quantisedMembers],
  parse(read) {
    const c2 = read.integer('c2', 0, 40, 10);
    if (c2 % 2 !== 0) refuse('MANIFEST_OPTIMIZER', 'an even c2', c2, 'libs/step/SPEC.md §24');
    return {
      ...{ beta1: parseFactor(read, 'beta1'), beta2: parseFactor(read, 'beta2') },
      ...{ c1: read.integer('c1', 0, 40, 8), c2, u: read.integer('u', 0, 40, 12) },
      ...{ eps: read.integer('eps', 1, Number.MAX_SAFE_INTEGER, 1), ...parseQuantised(read) },
    };
  },
  states: () => ['m1', 'm2'],
  bounds: (optimizer, parameters) => [
    ...momentBounds(optimizer),
    ...quantisedBounds(optimizer, parameters, {
      ...{ rule: 'ADAMW', largest: largestRate(optimizer.lr) << BigInt(optimizer.u + 3), shift: optimizer.u },
    }),
  ],
  update(optimizer, moved, step) {
    const { c1, c2, u } = optimizer;
    const [b1, q1] = optimizer.beta1;
    const [b2, q2] = optimizer.beta2;
    const gradients = quantisedGradients(optimizer, moved);
    const top = 1n << BigInt(u + 3);
    return moved.map((one, at) => {
      const h = gradients[at]!;
      const [before1, before2] = one.state;
      const m1 = h.map((x, i) => nearer(before1![i]!, x << BigInt(c1), b1, q1));
      const m2 = h.map((x, i) => nearer(before2![i]!, (x * x) << BigInt(c2), b2, q2));
      const U = m1.map((m, i) => {
        const scaled = m << BigInt(rootShift(optimizer));
        return clamp(divRound(scaled, isqrt(m2[i]!) + BigInt(optimizer.eps)), -top, top);
      });
      return { W: stepped(optimizer, one, U, { step, shift: u }), state: [m1, m2] };
    });
  },
  emit(e, optimizer, moved, scalars) {
    const { u, eps } = optimizer;
    const top = 2 ** (u + 3);
    return emitUpdates(e, optimizer, moved, (one, h) => {
      const [before1, before2] = one.state;
      const m1 = emitFirst(e, optimizer, before1!, h);
      const m2 = emitSecond(e, optimizer, before2!, h);
      const root = e.add(e.isqrt(m2), e.scalar(eps));
      const U = e.clamp(emitQuotient(e, optimizer, m1, root), -top, top);
      return { W: emitStepped(e, optimizer, one, U, { scalars, shift: u }), state: [m1, m2] };
    });
  },
  unprovable: () => ['adamw has no step proof; the gradient step of an fxt 1 manifest has'],
};

/** Bits that bring `m1` to the fraction of the root of `m2` and then to u. */
function rootShift({ u, c1, c2 }: AdamW): number {
  return u + c2 / 2 - c1;
}

/** `m + RS((x − m)·b, q)`. */
function nearer(m: bigint, x: bigint, b: number, q: number): bigint {
  return m + roundShift((x - m) * BigInt(b), q);
}

/** `m1 + RS((h·2^c1 − m1)·b, q)`; in one sum, where float64 carries m1 with q more bits. */
function emitFirst(e: NetEmitter, { beta1: [b, q], c1, hbits }: AdamW, m: string, h: string): string {
  if (hbits - 1 + c1 + q >= 52) {
    const far = e.sub(e.scale(h, c1), m);
    return e.add(m, e.round(b === 1 ? far : e.mul(far, e.scalar(b)), q));
  }
  const moved = e.add(e.mul(m, e.scalar(1 - b * 2 ** -q)), e.mul(h, e.scalar(b * 2 ** (c1 - q))));
  return e.nearest(moved, q);
}

/** `m2 + RS((h²·2^c2 − m2)·b, q)`: rule adamw keeps b times either within float64. */
function emitSecond(e: NetEmitter, { beta2: [b, q], c2 }: AdamW, m: string, h: string): string {
  const factor = b * 2 ** (c2 - q);
  const square = factor === 1 ? e.mul(h, h) : e.mul(e.mul(h, h), e.scalar(factor));
  const far = e.sub(square, e.mul(m, e.scalar(b * 2 ** -q)));
  return e.add(m, e.nearest(far, q));
}

/**
 * `DIVR(m1·2^r, root)`, or what the clamp makes the same. A quotient within it errs by 2^(u + 5 − 53) at most with its
 * half; where it is not a whole number then, it is further than 1/(2·root) from one.
 */
function emitQuotient(e: NetEmitter, optimizer: AdamW, m1: string, root: string): string {
  const { hbits, u, c2 } = optimizer;
  const scaled = e.scale(m1, rootShift(optimizer));
  if (hbits + u + c2 / 2 > 44) return e.divRound(scaled, root);
  return e.node('Floor', [e.add(e.node('Div', [scaled, root]), e.scalar(0.5))]);
}

/** Rule adamw without its part on λ. */
function momentBounds({ beta1, beta2, c1, c2, u, eps, hbits }: AdamW): readonly NetBound[] {
  const where = 'optimizer';
  const power = (bits: number): bigint => 1n << BigInt(bits);
  return [
    bound('ADAMW', where, roundingValue(BigInt(beta1[0]) << BigInt(hbits + c1), beta1[1])),
    bound('ADAMW', where, roundingValue(BigInt(beta2[0]) << BigInt(2 * hbits - 2 + c2), beta2[1])),
    bound('ADAMW', where, power(hbits + u + c2 / 2) + power(hbits + c2 / 2), power(52)),
    bound('ADAMW', where, BigInt(c1), BigInt(u + c2 / 2 + 1)),
    bound('ADAMW', where, BigInt(eps), power(hbits - 1 + c2 / 2) + 1n),
  ];
}
