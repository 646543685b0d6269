/** Reads the compiler's constraint systems (iden3's r1cs format, version 1). */
import { ConfigurationError } from '#attestation/base';

/** Wire index to coefficient; wire 0 is the constant 1. */
export type Linear = ReadonlyMap<number, bigint>;

export interface Constraint {
  readonly a: Linear;
  readonly b: Linear;
  readonly c: Linear;
}

export interface R1csHeader {
  readonly wires: number;
  readonly publicOutputs: number;
  readonly publicInputs: number;
  readonly privateInputs: number;
  readonly constraints: number;
}

const elementBytes = 32;

/** @throws ConfigurationError GROTH16_R1CS */
export function readR1csHeader(bytes: Uint8Array): R1csHeader {
  const view = section(bytes, 1);
  if (view.getUint32(0, true) !== elementBytes) return damaged();
  const at = 4 + elementBytes;
  const [wires, publicOutputs, publicInputs, privateInputs] = [0, 4, 8, 12].map((o) => view.getUint32(at + o, true));
  return {
    wires: wires!,
    publicOutputs: publicOutputs!,
    publicInputs: publicInputs!,
    privateInputs: privateInputs!,
    constraints: view.getUint32(at + 24, true),
  };
}

/** @throws ConfigurationError GROTH16_R1CS */
export function readConstraints(bytes: Uint8Array): Constraint[] {
  const { constraints } = readR1csHeader(bytes);
  const view = section(bytes, 2);
  let at = 0;
  const linear = (): Linear => {
    const terms = new Map<number, bigint>();
    const count = view.getUint32(at, true);
    at += 4;
    for (let i = 0; i < count; i++, at += 4 + elementBytes) {
      let coefficient = 0n;
      for (let k = 24; k >= 0; k -= 8) coefficient = (coefficient << 64n) | view.getBigUint64(at + 4 + k, true);
      terms.set(view.getUint32(at, true), coefficient);
    }
    return terms;
  };
  return Array.from({ length: constraints }, () => ({ a: linear(), b: linear(), c: linear() }));
}

/** log2 of the domain that a key of this system has. */
export function domainPower({ constraints, publicInputs, publicOutputs }: R1csHeader): number {
  return Math.floor(Math.log2(constraints + publicInputs + publicOutputs)) + 1;
}

function section(bytes: Uint8Array, id: number): DataView {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0, false) !== 0x72316373) return damaged();
  for (let at = 12; at + 12 <= bytes.length;) {
    const size = Number(view.getBigUint64(at + 4, true));
    if (at + 12 + size > bytes.length) return damaged();
    if (view.getUint32(at, true) === id) return new DataView(bytes.buffer, bytes.byteOffset + at + 12, size);
    at += 12 + size;
  }
  return damaged();
}

function damaged(): never {
  const action = 'remove the cached circuit';
  const detail = {
    expected: 'a constraint system of the compiler',
    got: 'another file',
    rule: 'libs/zk/src/groth16/SPEC.md §3',
    action,
  };
  throw new ConfigurationError('GROTH16_R1CS', detail);
}
