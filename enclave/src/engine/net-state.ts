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
        all.set(tensorNumbers(values.get(part.name)!), at);
        at += part.size;
      }
      if (offset !== 0) for (let i = 0; i < all.length; i++) all[i]! += offset;
      return [name, new Tensor('float64', all, dims)];
    }),
  );
}

export function unpackedState(m: NetManifest, packed: NamedTensors): Weights {
  const numbers = new Map(unpackedNumbers(m, packed));
  return borderShapes(m).map(({ name, dims }) => ({ name, dims, values: tensorIntegers(numbers.get(name)!()) }));
}

/** Largest magnitude of each tensor of the state that is asked for. */
export function stateMagnitudes(m: NetManifest, packed: NamedTensors, names: readonly string[]): Map<string, number> {
  const numbers = new Map(unpackedNumbers(m, packed));
  return new Map(
    names.map((name) => [name, numbers.get(name)!().reduce((most, value) => Math.max(most, Math.abs(value)), 0)]),
  );
}

/** By name what reads the tensor's whole numbers. */
function unpackedNumbers(m: NetManifest, packed: NamedTensors): readonly (readonly [string, () => Float64Array])[] {
  return packedTensors(m).flatMap(({ name, parts, offset }) => {
    const data = packed[name]!.data as Float64Array;
    let at = 0;
    return parts.map((part) => {
      const own = data.subarray(at, (at += part.size));
      return [part.name, () => (offset === 0 ? own : own.map((value) => value - offset))] as const;
    });
  });
}
