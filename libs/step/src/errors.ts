/** How libs/step refuses: one helper for coded rejections and the typed guard violation of libs/step/SPEC.md §1. */
import { inWords, Rejection } from '#attestation/base';

/** @throws Rejection always, with `code` */
export function refuse(code: string, expected: string, got: unknown, rule: string): never {
  const text = inWords(got);
  throw new Rejection(code, { expected, got: text.length > 120 ? `${text.slice(0, 120)}…` : text, rule });
}

/** How much larger a tensor was than some steps before. */
export interface Growth {
  readonly factor: number;
  readonly steps: number;
}

/** A value left its declared range in training (`E_RANGE` of libs/step/SPEC.md §1): the job has no result. */
export class GuardViolation extends Rejection {
  /** null: nobody saw it grow. */
  readonly growth: Growth | null;

  constructor(
    /** 0-based step of the job in which the value arose. */
    readonly step: number,
    /** `Y1`, `G1`, `W1`, `b1` … as in libs/step/SPEC.md §4 to §7. */
    readonly tensor: string,
    readonly range: string,
    readonly magnitude: string,
    /** Where somebody watched the steps before (divergence.ts). */
    { growth = null, action = 'lower the learning rate or choose a wider profile' }: Explained = {},
  ) {
    super('GUARD_VIOLATION', {
      expected: `${tensor} within ${range} at step ${step}`,
      got: `step ${step}, tensor ${tensor}, value ${magnitude}${growthWords(growth)}`,
      rule: 'libs/step/SPEC.md §7',
      action,
    });
    this.growth = growth;
  }

  override toJSON(): Record<string, unknown> {
    const { step, tensor, growth } = this;
    return { ...super.toJSON(), step, tensor, ...(growth !== null && { growth }) };
  }
}

interface Explained {
  readonly growth?: Growth | null;
  readonly action?: string;
}

/** `, 4 times as large as 8 steps before`. */
export function growthWords(growth: Growth | null): string {
  if (growth === null) return '';
  const { factor, steps } = growth;
  return `, ${short(factor)} times as large as ${steps === 1 ? 'one step' : `${steps} steps`} before`;
}

/** Two digits of it. */
export function short(factor: number): string {
  return String(Number(factor.toPrecision(2)));
}
