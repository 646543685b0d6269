/** Metrics of a job over its validation set (libs/step/SPEC.md §29). */
import { refuse } from '../../errors.js';
import { netOf } from '../manifest.js';
import type { NetManifest } from '../net.js';
import type { Fraction, Meter } from './meter.js';
import { sizeOf } from '../../tensors.js';

interface Measured extends Fraction {
  readonly metric: string;
}

/** Counts what the manifest's `evaluate` asks for, in its order, over chunks of records. */
export class NetMeasurement {
  readonly #meters: readonly { readonly metric: string; readonly meter: Meter }[];
  readonly #sizes: { readonly output: number; readonly labels: number };

  constructor(m: NetManifest) {
    const { manifest, loss, output, labels } = netOf(m);
    const known = loss.kind.metrics(loss.members, loss.place);
    this.#meters = (manifest.evaluate?.metrics ?? []).map((metric) => ({ metric, meter: known[metric]!() }));
    this.#sizes = { output: sizeOf(output.shape), labels: sizeOf(labels.shape) };
  }

  /**
   * @param outputs whole numbers [rows, …output shape] of the forward pass, dropout off
   * @param labels  [rows, …label shape]
   * @throws Rejection EVALUATION_ROWS unless both are of as many whole rows
   */
  add(outputs: ArrayLike<number>, labels: ArrayLike<number>): void {
    const { output, labels: own } = this.#sizes;
    if (outputs.length * own !== labels.length * output || labels.length % own !== 0) {
      const expected = `${output} outputs and ${own} labels a record`;
      refuse('EVALUATION_ROWS', expected, `${outputs.length} and ${labels.length}`, 'libs/step/SPEC.md §29');
    }
    for (const { meter } of this.#meters) meter.add(outputs, labels);
  }

  results(): readonly Measured[] {
    return this.#meters.map(({ metric, meter }) => ({ metric, ...meter.result() }));
  }
}
