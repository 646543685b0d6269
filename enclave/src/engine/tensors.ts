/** Weights between exact integers and the float64 tensors of the runtime. */
import { Tensor } from '#libs/onnx';
import { tensorNumbers, tensorShapes, type Manifest, type Weights } from '#libs/step';

/** float64 tensors by name, as the graphs take them. */
export type WeightTensors = Readonly<Record<string, Tensor>>;

export function toTensors(weights: Weights): WeightTensors {
  return Object.fromEntries(
    weights.map(({ name, dims, values }) => [name, new Tensor('float64', tensorNumbers(values), dims)]),
  );
}

export function toWeights(m: Manifest, tensors: WeightTensors): Weights {
  return tensorShapes(m).map(({ name, dims }) => {
    const carrier = tensors[name]!.data as Float64Array;
    const values = new BigInt64Array(carrier.length);
    for (let i = 0; i < values.length; i++) values[i] = BigInt(carrier[i]!);
    return { name, dims, values };
  });
}

/** Largest magnitude of each tensor named. */
export function magnitudes(tensors: WeightTensors, names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    names.map((name) => {
      let most = 0;
      for (const value of tensors[name]!.data as Float64Array) most = Math.max(most, Math.abs(value));
      return [name, most];
    }),
  );
}
