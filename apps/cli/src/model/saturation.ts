/**
 * Whether a training diverges in numbers that saturate (libs/step/SPEC.md §21.1): no guard ends it, and what it learns is worth
 * little.
 */
import { Rejection } from '#attestation/base';
import type { EdgeFigures } from '#libs/client/api';
import { lowerRate, type NetManifest } from '#libs/step';
import type { EngineProgress } from '../train/engine-process.js';

/** From this share of an edge on its ends decide what is learned. */
const shareMax = 0.1;

type Seen = Pick<EngineProgress, 'step' | 'edges'>;

interface Place {
  readonly edge: string;
  readonly side: 'values' | 'errors';
}

interface SaturationWatch {
  see(progress: Seen): void;
  /** What the last figures say; null where no edge saturates. */
  warning(): Rejection | null;
}

export function watchSaturation(m: NetManifest): SaturationWatch {
  let first: Seen | null = null;
  let last: Seen | null = null;
  return {
    see(progress) {
      first ??= progress;
      last = progress;
    },
    warning() {
      if (first === null || last === null) return null;
      const places = last.edges.flatMap(({ edge }): Place[] => [
        { edge, side: 'values' },
        { edge, side: 'errors' },
      ]);
      const now = last;
      const [worst] = places.toSorted((a, b) => shareOf(now, b) - shareOf(now, a));
      return worst === undefined || shareOf(now, worst) < shareMax ? null : saturates(m, worst, first, now);
    },
  };
}

function saturates(m: NetManifest, place: Place, first: Seen, now: Seen): Rejection {
  const [before, share] = [shareOf(first, place), shareOf(now, place)];
  const steps = now.step - first.step;
  const growth = before > 0 && steps > 0 ? { factor: share / before, steps } : null;
  const grew = steps > 0 ? `, ${percent(before)} ${steps} steps before` : '';
  return new Rejection('TRAINING_SATURATES', {
    expected: `less than ${percent(shareMax)} of the ${place.side} of edge ${place.edge} at an end of their range`,
    got: `${percent(share)} at step ${now.step}${grew}`,
    rule: 'libs/step/SPEC.md §21.1',
    action: `${lowerRate(m, Math.min(peakStep(m), now.step - 1), growth)}; or give the edge fewer bits of fraction (a, g)`,
  });
}

/** Where the rate is highest: the last one of a schedule may be so low that there is none below it. */
function peakStep({ optimizer }: NetManifest): number {
  const { lr, m: sizes } = optimizer as {
    lr?: { points: readonly (readonly number[])[] };
    m?: readonly (readonly number[])[];
  };
  return (lr?.points ?? sizes!).reduce((peak, point) => (point[1]! > peak[1]! ? point : peak))[0]!;
}

function shareOf({ edges }: Seen, { edge, side }: Place): number {
  const found = edges.find((one: EdgeFigures) => one.edge === edge);
  if (found === undefined) return 0;
  const [part, of] = side === 'values' ? [found.saturatedValues, found.values] : [found.saturatedErrors, found.errors];
  return of === 0 ? 0 : part / of;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
