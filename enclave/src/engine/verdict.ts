/** What the guards of a call of the training graph say (libs/step/SPEC.md §7, §19). */
import type { InferenceSession, NamedTensors } from '#libs/onnx';
import { countsAt, explained, GuardViolation, type GuardOutput, type Manifest } from '#libs/step';
import { Trail } from './trail.js';

/** `sure`: every number of the call is exact. `strayed`: weights left what float64 is sure to carry; ask the oracle. */
type Verdict = 'sure' | 'strayed';

/**
 * Reads the guards in the order of the steps, and stops where the numbers behind are no longer sure.
 *
 * @param trail of the calls before
 * @throws GuardViolation GUARD_VIOLATION for the first value out of range
 */
export function readGuards(
  manifest: Manifest,
  guards: readonly GuardOutput[],
  result: InferenceSession.ReturnType,
  firstStep: number,
  count: number,
  trail: Trail = new Trail(),
): Verdict {
  const magnitudes = (output: string): Float64Array => result[output]!.data as Float64Array;
  const violation = (i: number, { output, guard: { tensor, low, high } }: GuardOutput): GuardViolation => {
    const most = `of magnitude ${Math.floor(magnitudes(output)[i]!)}`;
    const found = new GuardViolation(firstStep + i, tensor, `${low}..${high}`, most);
    return explained(found, manifest, trail.growth(output, magnitudes, firstStep, i));
  };
  for (let i = 0; i < count; i++) {
    let hasStrayed = false;
    for (const one of guards) {
      const { output, magnitudeMax, guard } = one;
      const magnitude = magnitudes(output)[i]!;
      if (!guard.isAtBorder) {
        if (!(magnitude <= magnitudeMax)) throw violation(i, one);
        continue;
      }
      const counts = countsAt(manifest, guard, firstStep + i);
      if (counts && !(magnitude <= -Number(guard.low))) throw violation(i, one);
      // The least value of the range and one above its largest have the same magnitude. Behind the last step nothing is computed.
      const isLast = i === count - 1;
      hasStrayed ||= counts ? magnitude > magnitudeMax : !isLast && !(magnitude <= guard.carriedMax);
    }
    if (hasStrayed) return 'strayed';
  }
  const outputs = guards.map(({ output }) => output);
  trail.follow(outputs, magnitudes, firstStep, count);
  return 'sure';
}

/** Whether float64 carries a step from these weights exactly. */
export function isCarried(guards: readonly GuardOutput[], weights: NamedTensors): boolean {
  return guards.every(({ guard: { tensor, isAtBorder, carriedMax } }) => {
    if (!isAtBorder) return true;
    const values = weights[tensor]!.data as Float64Array;
    return values.every((value) => Math.abs(value) <= carriedMax);
  });
}
