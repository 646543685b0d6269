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
  emitGradients,
  emitStepped,
  parseQuantised,
  quantisedBounds,
  quantisedFaces,
  quantisedGradients,
  quantisedMembers,
  stepMax,
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
  moveMax: (optimizer, parameter, step) =>
    stepMax(optimizer, parameter, step, 1n << BigInt(optimizer.u + 3), optimizer.u),
  moved: (optimizer) => ['', ...(isMoved(optimizer) ? ['m2'] : [])],
  emit(e, optimizer, groups, scalars) {
    const gradients = emitGradients(e, optimizer, groups);
    return groups.map((group, at) => {
      const h = gradients[at]!;
      const [before1, before2] = group.carried.state;
      const m1 = emitFirst(e, optimizer, before1!, h);
      const m2 = emitSecond(e, optimizer, before2!, h);
      const U = emitQuotient(e, optimizer, m1, e.isqrt(m2.value));
      return { W: emitStepped(e, optimizer, group, U, { scalars, shift: optimizer.u }), state: [m1, m2.carried] };
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
  if (hbits - 1 + c1 + q >= 51) return e.add(m, e.roundedScaled(e.sub(e.scale(h, c1), m), b * 2 ** -q, q));
  const kept = e.affine(m, 1 - b * 2 ** -q, q > 0 ? e.half(q) : 0);
  const factor = b * 2 ** (c1 - q);
  if (c1 >= q) return e.carriedValue(e.carryOn(e.carryScaled(h, factor), kept));
  return e.whole(e.add(kept, e.affine(h, factor, 0)));
}

/** `m2 + RS((h²·2^c2 − m2)·b2, q2)`: rule adamw keeps b times either within float64. */
function emitSecond(e: NetEmitter, optimizer: AdamW, before: string, h: string): { value: string; carried: string } {
  const [b, q] = optimizer.beta2;
  const m = isMoved(optimizer) ? e.carriedValue(before) : before;
  const left = e.affine(m, -b * 2 ** -q, q > 0 ? e.half(q) : 0);
  const far = e.add(left, e.scaled(e.mul(h, h), b * 2 ** (optimizer.c2 - q)));
  if (!isMoved(optimizer)) {
    const value = e.add(m, e.whole(far));
    return { value, carried: value };
  }
  const carried = e.carryOn(before, far);
  return { value: e.carriedValue(carried), carried };
}

/** Whether m2 stays below 2^51. */
function isMoved({ hbits, c2 }: AdamW): boolean {
  return 2 * hbits - 2 + c2 <= 50;
}

/**
 * `CLAMP(DIVR(m1·2^r, isqrt + eps), ±2^(u+3))`. A quotient within the clamp errs by 2^(u + 4 − 53) at most; where it is no
 * whole number and a half, it is further than 1/(2·root) from one, and a half is moved up by less than that.
 */
function emitQuotient(e: NetEmitter, optimizer: AdamW, m1: string, isqrt: string): string {
  const { hbits, u, c2, eps } = optimizer;
  const r = rootShift(optimizer);
  const top = 2 ** (u + 3);
  if (hbits + u + c2 / 2 > 44) return e.clamp(e.divRound(e.scale(m1, r), e.add(isqrt, e.scalar(eps))), -top, top);
  const quotient = e.clamp(e.node('Div', [m1, e.affine(isqrt, 2 ** -r, eps * 2 ** -r)]), -top, top);
  return e.whole(e.add(quotient, e.scalar(e.half(hbits + c2 / 2 + 1))));
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
