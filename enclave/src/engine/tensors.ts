/** Weights out of the float64 tensors of the runtime. */
import type { NamedTensors } from '#libs/onnx';
import { borderShapes, tensorIntegers, type JobManifest, type Weights } from '#libs/step';

export function toWeights(m: JobManifest, tensors: NamedTensors): Weights {
  return borderShapes(m).map(({ name, dims }) => {
    return { name, dims, values: tensorIntegers(tensors[name]!.data as Float64Array) };
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
