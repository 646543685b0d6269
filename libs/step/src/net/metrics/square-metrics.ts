/** Metrics of real targets at the output's fraction (libs/step/SPEC.md §29): `Σ(Y − τ)²` and `Σ|Y − τ|` over targets. */
import { summing, type Metrics } from './meter.js';

/** |Y − τ| is below 2^33, its square beyond what a double holds. */
export const squareMetrics: Metrics = {
  sse: summing((outputs, labels) => {
    let sum = 0n;
    for (let i = 0; i < labels.length; i++) sum += BigInt(outputs[i]! - labels[i]!) ** 2n;
    return [sum, labels.length];
  }),
  sae: summing((outputs, labels) => {
    let sum = 0n;
    for (let i = 0; i < labels.length; i++) sum += BigInt(Math.abs(outputs[i]! - labels[i]!));
    return [sum, labels.length];
  }),
};
