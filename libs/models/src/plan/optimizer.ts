/** Optimizers with settings that were measured (libs/step/SPEC.md §24). */
import { refuse } from '../errors.js';
import { cosineRate } from './schedule.js';

export type OptimizerName = 'adamw' | 'sgd' | 'sgd-exact';

interface Setting {
  /** Peak rate, where it was asked for. */
  readonly lr: number | undefined;
  readonly steps: number;
  /** Rows whose errors are summed in a step. */
  readonly batch: number;
  readonly coarser: number;
  readonly isSequence: boolean;
  readonly hasClip: boolean;
  readonly isFineTuning: boolean;
  readonly isPicture: boolean;
}

interface Made {
  readonly json: Readonly<Record<string, unknown>>;
  readonly rate: number;
}

/** Fraction of the norm that `clip` bounds, under the default fraction of gradients. */
const normFraction = 6;
const exactStep = 10;
/** Of a step of `sgd-exact`, `m·2^-e` (libs/step/SPEC.md §8). */
const sizeMax = 255;

/** @throws Rejection PLAN_RATE where a rate is too low for `sgd-exact` */
export function optimizerOf(name: OptimizerName, setting: Setting): Made {
  const { lr, steps, batch, isSequence, isFineTuning, isPicture, hasClip } = setting;
  if (name === 'adamw') {
    const rate = lr ?? (isFineTuning ? 0.0005 : isSequence ? 0.004 : isPicture ? 0.002 : 0.003);
    const clip = hasClip ? { clip: batch * 2 ** normFraction } : {};
    const decay = isSequence ? 3277 : 655;
    const betas = { beta1: [13, 7], beta2: isSequence ? [3, 8] : [1, 10] };
    return { json: { kind: name, ...betas, decay, ...clip, lr: cosineRate(rate, steps) }, rate };
  }
  // Without momentum a step has to go as far as several with it.
  const rate = lr ?? (isFineTuning ? 0.01 : name === 'sgd' ? 0.05 : 0.25);
  // Sums over the batch are not divided by it: the rate of a sum is.
  if (name === 'sgd') return { json: { kind: name, momentum: [13, 7], lr: cosineRate(rate / batch, steps) }, rate };
  // A rate that the usual exponent is too fine for has a coarser one.
  const e = Math.min(exactStep - setting.coarser, Math.floor(Math.log2((sizeMax * batch) / rate)));
  const m = Math.round((rate / batch) * 2 ** e);
  if (m < 1) {
    const least = Number((batch / 2 ** e).toPrecision(3));
    refuse(
      'PLAN_RATE',
      `a rate of ${least} or more under sgd-exact`,
      rate,
      'choose a higher --lr, or a smaller --batch',
    );
  }
  const half = Math.max(1, Math.round(m / 2));
  const schedule =
    half < m && steps > 1
      ? [
          [0, m],
          [Math.floor(steps / 2), half],
        ]
      : [[0, m]];
  return { json: { kind: name, e, m: schedule }, rate: (m * batch) / 2 ** e };
}
