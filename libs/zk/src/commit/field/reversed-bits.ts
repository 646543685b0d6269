/** The last m bits of a number in reverse. */
export function reversedBits(value: number, m: number): number {
  let reversed = 0;
  for (let bit = 0; bit < m; bit++) reversed = 2 * reversed + (Math.floor(value / 2 ** bit) % 2);
  return reversed;
}
