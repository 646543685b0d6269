/** What a bench says of one quantity. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly n: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
  /** Bars of the median, and whether it holds them. */
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly holds?: boolean;
  /** Why there is no figure; n is 0. */
  readonly skipped?: string;
}

export interface BenchOptions {
  readonly peers: boolean;
  /** Rows of a bench that has some; all where none is named. */
  readonly rows: readonly string[];
  /** Steps of a whole job. */
  readonly steps?: number | undefined;
}

/** Results, and members of the JSON document that others read by name. */
export interface BenchOutcome {
  readonly results: readonly BenchResult[];
  readonly members: Readonly<Record<string, unknown>>;
}
