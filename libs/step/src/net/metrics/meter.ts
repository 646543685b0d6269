/** What a metric is: exact integers over the integer outputs of a net (libs/step/SPEC.md §29). */

export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Counts over as many chunks of records as come; how they are cut changes nothing. */
export interface Meter {
  /**
   * @param outputs whole numbers, row-major as the output edge has them
   * @param labels  row-major, as records have them
   */
  add(outputs: ArrayLike<number>, labels: ArrayLike<number>): void;
  result(): Fraction;
}

/** Metrics by name, each a meter that has counted nothing. */
export type Metrics = Readonly<Record<string, () => Meter>>;

/** A meter that sums a whole number per chunk over a count per chunk. */
export function summing(
  chunk: (outputs: ArrayLike<number>, labels: ArrayLike<number>) => readonly [sum: bigint | number, count: number],
): () => Meter {
  return () => {
    let [numerator, denominator] = [0n, 0n];
    return {
      add(outputs, labels) {
        const [sum, count] = chunk(outputs, labels);
        numerator += BigInt(sum);
        denominator += BigInt(count);
      },
      result: () => ({ numerator, denominator }),
    };
  };
}
