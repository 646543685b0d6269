/** Members of attention, and what follows from a layer's edges (libs/step/SPEC.md §22). */
import { floorDiv, isqrt } from '../../integers.js';
import type { Edge, NetLayer } from '../edge.js';

export interface Attention {
  readonly heads: number;
  /** Place i reads places 0 … i only. */
  readonly causal: boolean;
  /** Fractions of the exponentials, and of the reciprocal of their sum. */
  readonly E: number;
  readonly k: number;
}

/** An attention layer with what follows from it. */
export interface AttentionPlace {
  readonly layer: NetLayer<Attention>;
  readonly T: number;
  /** Width of a head. */
  readonly d: number;
  /** `1/√d` at fraction 12. */
  readonly sigma: bigint;
  /** Shifts, by what they round. */
  readonly shifts: {
    readonly S: number;
    readonly y: number;
    readonly dV: number;
    readonly dP: number;
    /** Of the errors of queries and of keys. */
    readonly dQK: number;
  };
}

export function placeOf(layer: NetLayer<Attention>): AttentionPlace {
  const { inputs, output, members } = layer;
  const [T, C] = inputs[0]!.shape as readonly [number, number];
  const d = C / members.heads;
  const g = errorEdge(inputs)?.g ?? 0;
  const { a } = inputs[0]!;
  return {
    ...{ layer, T, d, sigma: isqrt(floorDiv(1n << 24n, BigInt(d))) },
    shifts: {
      ...{ S: a + 12, y: 12 + a - output.a },
      ...{ dV: 12 + output.g - g, dP: a - 4, dQK: a + 16 + output.g - g },
    },
  };
}

/** All inputs that an error flows into have one g. */
export function errorEdge(inputs: readonly Edge[]): Edge | undefined {
  return inputs.find((edge) => edge.hasError);
}
