/** Weights out of the float64 tensors of the runtime. */
import type { NamedTensors } from '#libs/onnx';
import { borderShapes, type JobManifest, type Weights } from '#libs/step';

export function toWeights(m: JobManifest, tensors: NamedTensors): Weights {
  return borderShapes(m).map(({ name, dims }) => {
    const carrier = tensors[name]!.data as Float64Array;
    const values = new BigInt64Array(carrier.length);
    for (let i = 0; i < values.length; i++) values[i] = BigInt(carrier[i]!);
    return { name, dims, values };
  });
}

/** Largest magnitude of each tensor named. */
export function magnitudes(tensors: NamedTensors, names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    names.map((name) => {
      let most = 0;
      for (const value of tensors[name]!.data as Float64Array) most = Math.max(most, Math.abs(value));
      return [name, most];
    }),
  );
}
