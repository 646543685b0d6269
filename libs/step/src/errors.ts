/** How libs/step refuses: one helper for coded rejections and the typed guard violation of libs/step/SPEC.md §1. */
import { Rejection } from '#attestation/base';

/** @throws Rejection always, with `code` */
export function refuse(code: string, expected: string, got: unknown, rule: string): never {
  const text = describe(got);
  throw new Rejection(code, { expected, got: text.length > 120 ? `${text.slice(0, 120)}…` : text, rule });
}

/** Shallow on purpose: what came may be nested as deep as its sender liked. */
function describe(value: unknown): string {
  if (Array.isArray(value)) {
    const isFlat = value.length <= 16 && value.every((entry) => typeof entry !== 'object');
    return isFlat ? `[${value.map(String).join(', ')}]` : `a list of ${value.length}`;
  }
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** A value left its declared range in training (`E_RANGE` of libs/step/SPEC.md §1): the job has no result. */
export class GuardViolation extends Rejection {
  constructor(
    /** 0-based step of the job in which the value arose. */
    readonly step: number,
    /** `Y1`, `G1`, `W1`, `b1` … as in libs/step/SPEC.md §4 to §7. */
    readonly tensor: string,
    range: string,
    magnitude: string,
  ) {
    super('GUARD_VIOLATION', {
      expected: `${tensor} within ${range} at step ${step}`,
      got: `step ${step}, tensor ${tensor}, value ${magnitude}`,
      rule: 'libs/step/SPEC.md §7',
      action: 'lower the learning rate or choose a wider profile',
    });
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), step: this.step, tensor: this.tensor };
  }
}
