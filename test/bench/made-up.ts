/** Records for benches of proofs. */
import type { Examples, Manifest } from '#libs/step';

/** A fifth of the bytes are not zero: what records say does not change the work. */
export function madeUp({ dims }: Manifest, count: number): Examples {
  let state = 1;
  const byte = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % 5 === 0 ? (state >> 8) & 255 : 0;
  };
  return {
    count,
    features: Uint8Array.from({ length: count * dims[0]! }, byte),
    labels: Uint8Array.from({ length: count }, (_, i) => i % dims.at(-1)!),
  };
}
