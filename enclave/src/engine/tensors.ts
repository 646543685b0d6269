/** Weights between exact integers and the float64 tensors of the runtime. */
import { Tensor } from '#libs/onnx';
import { tensorShapes, type Manifest, type Weights } from '#libs/step';

/** float64 tensors by name, as the graphs take them. */
export type WeightTensors = Readonly<Record<string, Tensor>>;

export function toTensors(weights: Weights): WeightTensors {
  return Object.fromEntries(
    weights.map(({ name, dims, values }) => {
      const carrier = new Float64Array(values.length);
      for (let i = 0; i < carrier.length; i++) carrier[i] = Number(values[i]!);
      return [name, new Tensor('float64', carrier, dims)];
    }),
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
