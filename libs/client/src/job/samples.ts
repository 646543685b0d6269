/** Segments of a job that are drawn to be proved. */

/** Finds a run of which one segment in ten was skipped with 97 % (contracts/SPEC.md §8, §19). */
export const defaultSamples = 32;
