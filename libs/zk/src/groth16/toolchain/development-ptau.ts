/**
 * Phase 1 of a DEVELOPMENT ceremony: one party draws τ, α, β, writes what a key of this size needs, and is trusted to
 * forget them. Whoever knows them proves anything; nothing of value may depend on a key made from this file. Writing the
 * Lagrange points from the scalars takes seconds where a real ceremony's preparation takes minutes to hours.
 *
 * File: snarkjs's `.ptau` format, sections 1–7 and 12–15. Points that no key of this power reads are zero.
 */
import { randomBytes } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { loadSnarkjs, type Curve, type Group } from './packages.js';

const windowBits = 8;
const scalarBytes = 32;

/** @throws ConfigurationError BACKEND_UNAVAILABLE */
export async function writeDevelopmentPtau(path: string, power: number): Promise<Record<string, never>> {
  const { curves } = await loadSnarkjs();
  const curve = await curves.getCurveFromName('bn128');
  const file = await open(path, 'w');
  try {
    await writeSections(file, curve, power);
    return {};
  } finally {
    await file.close();
    await curve.terminate();
  }
}

async function writeSections(file: FileHandle, curve: Curve, power: number): Promise<void> {
  const { q, r, G1, G2 } = curve;
  const n = 2 ** power;
  const draw = (): bigint => BigInt(`0x${randomBytes(48).toString('hex')}`) % r;
  const [tau, alpha, beta] = [draw(), draw(), draw()];
  const [times1, times2] = [fixedBase(G1), fixedBase(G2)];
  const powers = geometric(tau, 2 * n - 1, r);
  const [lagrange, lagrange2] = [power, power + 1].map((k) => lagrangeAt(tau, curve, k));
  const scaled = (factor: bigint, values: readonly bigint[]): bigint[] => values.map((value) => (factor * value) % r);
  /** Bases of smaller domains come first in sections 12 to 15: as many points less one. */
  const skipped = (group: Group): Uint8Array => new Uint8Array((n - 1) * 2 * group.F.n8);
  const padded = (point: Uint8Array): Uint8Array => concat([point, new Uint8Array((n - 1) * 2 * G1.F.n8)]);
  const sections: [number, () => Promise<Uint8Array>][] = [
    [1, async () => concat([u32(32), littleEndian(q, 32), u32(power), u32(power)])],
    [2, () => times1(powers)],
    [3, async () => concat([await times2(powers.slice(0, 2)), new Uint8Array((n - 2) * 2 * G2.F.n8)])],
    [4, async () => padded(await times1([alpha]))],
    [5, async () => padded(await times1([beta]))],
    [6, () => times2([beta])],
    [7, async () => u32(0)],
    [12, async () => concat([skipped(G1), await times1(lagrange!), await times1(lagrange2!)])],
    [13, async () => concat([skipped(G2), await times2(lagrange!)])],
    [14, async () => concat([skipped(G1), await times1(scaled(alpha, lagrange!))])],
    [15, async () => concat([skipped(G1), await times1(scaled(beta, lagrange!))])],
  ];
  await file.write(concat([Buffer.from('ptau'), u32(1), u32(sections.length)]));
  for (const [id, content] of sections) {
    const bytes = await content();
    await file.write(concat([u32(id), littleEndian(BigInt(bytes.length), 8)]));
    await file.write(bytes);
  }
}

/** Multiples of the group's generator, affine, by a table of windows. */
function fixedBase(group: Group): (scalars: readonly bigint[]) => Promise<Uint8Array> {
  const table: Uint8Array[][] = [];
  let base = group.g;
  for (let window = 0; window < scalarBytes; window++) {
    const row = [group.zero];
    for (let digit = 1; digit < 1 << windowBits; digit++) row.push(group.add(row[digit - 1]!, base));
    table.push(row);
    base = group.add(row.at(-1)!, base);
  }
  return (scalars) => {
    const size = 3 * group.F.n8;
    const points = new Uint8Array(scalars.length * size);
    scalars.forEach((scalar, i) => {
      let sum = group.zero;
      littleEndian(scalar, scalarBytes).forEach((digit, window) => {
        if (digit !== 0) sum = group.add(sum, table[window]![digit]!);
      });
      points.set(sum, i * size);
    });
    return group.batchToAffine(points);
  };
}

/** L_i(τ) = ω^i (τ^N − 1) / (N (τ − ω^i)) over the domain of N = 2^power roots of unity. */
function lagrangeAt(tau: bigint, { Fr, r }: Curve, power: number): bigint[] {
  const N = 2 ** power;
  const roots = geometric(Fr.toObject(Fr.w[power]!), N, r);
  const differences = roots.map((root) => mod(BigInt(N) * (tau - root), r));
  const factor = mod(powMod(tau, BigInt(N), r) - 1n, r);
  return inverses(differences, r).map((inverse, i) => (((inverse * roots[i]!) % r) * factor) % r);
}

function geometric(ratio: bigint, count: number, r: bigint): bigint[] {
  const values = [1n];
  while (values.length < count) values.push((values.at(-1)! * ratio) % r);
  return values;
}

/** One inversion for all. */
function inverses(values: readonly bigint[], r: bigint): bigint[] {
  const products = [1n];
  for (const value of values) products.push((products.at(-1)! * value) % r);
  let inverse = powMod(products.at(-1)!, r - 2n, r);
  const result = new Array<bigint>(values.length);
  for (let i = values.length - 1; i >= 0; i--) {
    result[i] = (inverse * products[i]!) % r;
    inverse = (inverse * values[i]!) % r;
  }
  return result;
}

function powMod(base: bigint, exponent: bigint, r: bigint): bigint {
  let [result, square] = [1n, base];
  for (let e = exponent; e > 0n; e >>= 1n) {
    if (e & 1n) result = (result * square) % r;
    square = (square * square) % r;
  }
  return result;
}

function mod(value: bigint, r: bigint): bigint {
  return ((value % r) + r) % r;
}

function littleEndian(value: bigint, size: number): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex')).reverse();
}

function u32(value: number): Uint8Array {
  return littleEndian(BigInt(value), 4);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
