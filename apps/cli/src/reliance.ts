/** Words for whether a verdict may be relied on, beside what it is. */

export const simulatedRefused =
  'the hardware is SIMULATED and shows nothing about a machine: say --allow-simulated where that is enough';

/** @param refusedFor  null: it may be relied on */
export function reliance(refusedFor: string | null): string {
  return refusedFor === null ? 'yes, as far as the verdict goes' : `no: ${refusedFor}`;
}
