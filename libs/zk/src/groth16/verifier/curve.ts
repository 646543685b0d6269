/** Points of BN254 in the byte form of the EVM's precompiles (EIP-196, EIP-197): big-endian, imaginary part first. */
import { bn254 } from '@noble/curves/bn254.js';
import { refuse } from '../../commit/layout/refuse.js';

export type G1 = InstanceType<typeof bn254.G1.Point>;
export type G2 = InstanceType<typeof bn254.G2.Point>;

export const g1Bytes = 64;
export const g2Bytes = 128;

const { Fp, Fp2, Fp12 } = bn254.fields;

/** @throws Rejection `code` unless the bytes are a point of the curve other than zero, in its one encoding */
export function parseG1(bytes: Uint8Array, code: string): G1 {
  const [x, y] = coordinates(bytes, 2, code);
  return valid(() => bn254.G1.Point.fromAffine({ x: x!, y: y! }), code);
}

/** @throws Rejection `code` unless the bytes are a point of the group other than zero, in its one encoding */
export function parseG2(bytes: Uint8Array, code: string): G2 {
  const [x1, x0, y1, y0] = coordinates(bytes, 4, code);
  return valid(
    () => bn254.G2.Point.fromAffine({ x: Fp2.fromBigTuple([x0!, x1!]), y: Fp2.fromBigTuple([y0!, y1!]) }),
    code,
  );
}

function coordinates(bytes: Uint8Array, count: number, code: string): bigint[] {
  return Array.from({ length: count }, (_, i) => {
    const value = bytes.subarray(32 * i, 32 * i + 32).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    return value < Fp.ORDER ? value : refuse(code, 'coordinates below the field prime', value, rule);
  });
}

function valid<P extends { assertValidity(): void; is0(): boolean; isTorsionFree(): boolean }>(
  make: () => P,
  code: string,
): P {
  try {
    const point = make();
    point.assertValidity();
    if (!point.is0() && point.isTorsionFree()) return point;
  } catch {
    // Refused below.
  }
  return refuse(code, 'a point of the group other than zero', 'another', rule);
}

/** Π e(a_i, b_i) = 1 */
export function isPairingProductOne(pairs: readonly (readonly [G1, G2])[]): boolean {
  return Fp12.eql(bn254.pairingBatch(pairs.map(([g1, g2]) => ({ g1, g2 }))), Fp12.ONE);
}

const rule = 'libs/zk/src/groth16/SPEC.md §7';
