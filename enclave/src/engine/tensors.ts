/** Weights between exact integers and the float64 tensors of the runtime. */
import { Tensor } from 'onnxruntime-node';
import { tensorShapes, type Manifest, type Weights } from '#libs/step';

/** float64 tensors by name, as the graphs take them. */
export type WeightTensors = Readonly<Record<string, Tensor>>;

export function toTensors(weights: Weights): WeightTensors {
  return Object.fromEntries(
    weights.map(({ name, dims, values }) => [name, new Tensor('float64', Float64Array.from(values, Number), dims)]),
  );
}

export function toWeights(m: Manifest, tensors: WeightTensors): Weights {
  return tensorShapes(m).map(({ name, dims }) => ({
    name,
    dims,
    values: BigInt64Array.from(tensors[name]!.data as Float64Array, BigInt),
  }));
}
