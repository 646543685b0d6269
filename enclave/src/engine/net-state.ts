/** The state of a net as its training graphs take it, and back (libs/step/SPEC.md §26). */
import { Tensor, type NamedTensors } from '#libs/onnx';
import {
  borderShapes,
  packedTensors,
  sizeOf,
  tensorIntegers,
  tensorNumbers,
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
      for (const part of parts) {
        all.set(tensorNumbers(values.get(part.name)!.subarray(part.from, part.from + part.size)), at);
        at += part.size;
      }
      if (offset !== 0) for (let i = 0; i < all.length; i++) all[i]! += offset;
      return [name, new Tensor('float64', all, dims)];
    }),
  );
}

export function unpackedState(m: NetManifest, packed: NamedTensors): Weights {
  const numbers = unpackedNumbers(m, packed);
  return borderShapes(m).map(({ name, dims }) => {
    const values = new BigInt64Array(sizeOf(dims));
    for (const { from, read } of numbers.get(name)!) values.set(tensorIntegers(read()), from);
    return { name, dims, values };
  });
}

/** Largest magnitude of each tensor of the state that is asked for. */
export function stateMagnitudes(m: NetManifest, packed: NamedTensors, names: readonly string[]): Map<string, number> {
  const numbers = unpackedNumbers(m, packed);
  const most = (values: Float64Array) => values.reduce((before, value) => Math.max(before, Math.abs(value)), 0);
  return new Map(names.map((name) => [name, Math.max(...numbers.get(name)!.map(({ read }) => most(read())))]));
}

/** Whole numbers from a place of a tensor on. */
interface Part {
  readonly from: number;
  readonly read: () => Float64Array;
}

/** By name the parts of each tensor of the state. */
function unpackedNumbers(m: NetManifest, packed: NamedTensors): ReadonlyMap<string, readonly Part[]> {
  const tensors = new Map<string, Part[]>();
  for (const { name, parts, offset } of packedTensors(m)) {
    const data = packed[name]!.data as Float64Array;
    let at = 0;
    for (const part of parts) {
      const own = data.subarray(at, (at += part.size));
      const read = () => (offset === 0 ? own : own.map((value) => value - offset));
      tensors.set(part.name, [...(tensors.get(part.name) ?? []), { from: part.from, read }]);
    }
  }
  return tensors;
}
