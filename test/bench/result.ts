/** What a bench says of one quantity. */
export interface BenchResult {
  readonly name: string;
  readonly unit: string;
  readonly n: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
}
