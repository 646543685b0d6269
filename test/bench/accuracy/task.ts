/** What the accuracy bench measures: a net with its data, trained twice, in exact integers and in float32. */
import type { NetExamples, NetManifest } from '#libs/step';

export type MetricName = 'accuracy' | 'label-accuracy' | 'perplexity' | 'rmse';

export interface Training {
  readonly manifest: NetManifest;
  /** Shuffled records. */
  readonly examples: NetExamples;
}

/** One training and what it is measured on; a task has several where its data is small. */
export interface Part extends Training {
  readonly test: NetExamples;
  /** What one of a real target's standardised units is worth; 1 where absent. */
  readonly unit?: number;
  /** Trained first, by each of the two for itself; its weights are the part's frozen ones. */
  readonly base?: Training;
}

export interface Task {
  readonly name: string;
  readonly what: string;
  readonly metric: MetricName;
  /** Beside the distance from float32. */
  readonly atLeast?: number;
  /** Left out where nobody asks for it by name. */
  readonly isByName?: boolean;
  /** @param share of the steps: 1, or less in the short form. @throws MissingData */
  parts(share: number): readonly Part[];
}

/** Data that this repository does not ship and that was not found. */
export class MissingData extends Error {}
