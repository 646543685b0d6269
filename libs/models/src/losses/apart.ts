/** Whether two figures of the same rows lie so close that the difference says nothing. */

/** Standard errors of a difference: less than so many is an accident of a few rows. */
const sameErrors = 2;
/** Of a number's root mean square error, in parts of the label's scale. */
const sameSpread = 0.01;

/** @param rows that are right and wrong as one */
export function areSharesClose(one: number, other: number, rows: number): boolean {
  const share = (one + other) / 2;
  return Math.abs(one - other) <= sameErrors * Math.sqrt((2 * share * (1 - share)) / rows);
}

/**
 * Root mean square errors in the label's unit.
 *
 * @param scale what 1 of the squares' sum is, in the square of that unit, for labels of `frac` fraction bits
 */
export function areErrorsClose(one: number, other: number, scale: number, frac: number): boolean {
  // What 1 of the numerator is, as a root, is the last bit of the label in the figure's unit.
  return Math.abs(one - other) <= sameSpread * Math.sqrt(scale) * 2 ** frac;
}

/**
 * Whether a root mean square error is above the reference by no more than a model that is as good may be: of normal errors a
 * mean square has the variance 2/rows of its own square, and a difference of two the double.
 */
export function isErrorByChance(reference: number, found: number, rows: number): boolean {
  return found ** 2 - reference ** 2 <= sameErrors * reference ** 2 * Math.sqrt(4 / rows);
}
