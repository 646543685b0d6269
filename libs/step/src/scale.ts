/** Fractions, shifts and limits that follow from a manifest (libs/step/SPEC.md §3, §4, §7, §10). */
import { lossOf } from './losses/index.js';
import type { Manifest } from './manifest.js';

export interface LayerScale {
  /** Layer number l, 1..L. */
  readonly layer: number;
  /** n_{l-1} and n_l. */
  readonly inputs: number;
  readonly outputs: number;
  readonly isLast: boolean;
  /** a_{l-1}, a_l, g_l and the derived w_l, β_l. */
  readonly aIn: number;
  readonly aOut: number;
  readonly g: number;
  readonly w: number;
  readonly beta: number;
  /** s_l = a_{l-1} + w_l − a_l. */
  readonly forwardShift: number;
  /** g_l + w_l − g_{l-1}; undefined for l = 1. */
  readonly backwardShift: number | undefined;
  /** ω = w_l + wint: weights stay within ±(2^ω − 1). */
  readonly weightBits: number;
  /** β_l + wint. */
  readonly biasBits: number;
  /** Amax_{l-1}: 255 or 2^abits − 1. */
  readonly inputMax: number;
  /** Gmax_l: the largest magnitude of an error of this layer. */
  readonly errorMax: number;
}

export function layerScales(m: Manifest): readonly LayerScale[] {
  const layerCount = m.dims.length - 1;
  return Array.from({ length: layerCount }, (_, i) => {
    const [aIn, aOut, g, e] = [m.a[i]!, m.a[i + 1]!, m.g[i]!, m.e[i]!];
    const isLast = i === layerCount - 1;
    const wint = typeof m.wint === 'number' ? m.wint : m.wint[i]!;
    const w = aIn + g + e;
    return {
      layer: i + 1,
      inputs: m.dims[i]!,
      outputs: m.dims[i + 1]!,
      isLast,
      aIn,
      aOut,
      g,
      w,
      beta: g + e,
      forwardShift: aIn + w - aOut,
      backwardShift: i === 0 ? undefined : g + w - m.g[i - 1]!,
      weightBits: w + wint,
      biasBits: g + e + wint,
      inputMax: i === 0 ? 255 : 2 ** m.abits - 1,
      errorMax: isLast ? lossOf(m).errorMax : 2 ** (m.gbits - 1),
    };
  });
}

/** Largest m of the schedule. */
export function stepSizeMax(m: Manifest): number {
  return Math.max(...m.optimizer.m.map(([, value]) => value));
}
