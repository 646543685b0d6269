/** A whole number from 0 up to and without `below`. */
export type Draw = (below: number) => number;

/** xorshift32: the same mutants for the same seed on every machine. */
export function random(seed: number): Draw {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
