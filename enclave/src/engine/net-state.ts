/** The state of a net as its training graphs take it, and back (libs/step/SPEC.md §26). */
import { Tensor, type NamedTensors } from '#libs/onnx';
import {
  borderShapes,
  packedTensors,
  setIntegers,
  setNumbers,
  sizeOf,
  type NetManifest,
  type Weights,
} from '#libs/step';

/** @param state as `borderShapes` has it */
export function packedState(m: NetManifest, state: Weights): NamedTensors {
  const values = new Map(state.map((tensor) => [tensor.name, tensor.values]));
  return Object.fromEntries(
    packedTensors(m).map(({ name, dims, parts, offset }) => {
      const all = new Float64Array(sizeOf(dims));
      let at = 0;
      for (const { name: own, from, size } of parts) {
        setNumbers(all.subarray(at, (at += size)), values.get(own)!.subarray(from, from + size), offset);
      }
      return [name, new Tensor('float64', all, dims)];
    }),
  );
}

export function unpackedState(m: NetManifest, packed: NamedTensors): Weights {
  const all = packedParts(m, packed);
  return borderShapes(m).map(({ name, dims }) => {
    const values = new BigInt64Array(sizeOf(dims));
    for (const { from, numbers, offset } of all.get(name)!) {
      setIntegers(values.subarray(from, from + numbers.length), numbers, offset);
    }
    return { name, dims, values };
  });
}

/** Largest magnitude of each tensor of the state that is asked for. */
export function stateMagnitudes(m: NetManifest, packed: NamedTensors, names: readonly string[]): Map<string, number> {
  const all = packedParts(m, packed);
  return new Map(names.map((name) => [name, Math.max(...all.get(name)!.map(magnitude))]));
}

function magnitude({ numbers, offset }: Part): number {
  let most = 0;
  for (let i = 0; i < numbers.length; i++) most = Math.max(most, Math.abs(numbers[i]! - offset));
  return most;
}

/** Whole numbers and an offset, from a place of a tensor on. */
interface Part {
  readonly from: number;
  readonly numbers: Float64Array;
  readonly offset: number;
}

/** By name the parts of each tensor of the state. */
function packedParts(m: NetManifest, packed: NamedTensors): ReadonlyMap<string, readonly Part[]> {
  const tensors = new Map<string, Part[]>();
  for (const { name, parts, offset } of packedTensors(m)) {
    const data = packed[name]!.data as Float64Array;
    let at = 0;
    for (const part of parts) {
      const numbers = data.subarray(at, (at += part.size));
      tensors.set(part.name, [...(tensors.get(part.name) ?? []), { from: part.from, numbers, offset }]);
    }
  }
  return tensors;
}
