/** Constraint systems under attack: are they satisfied, and do their inputs determine every wire? */
import type { Constraint, Linear } from '../groth16/toolchain/r1cs.js';
import { R } from '../groth16/relation/shape.js';

/** Indices of the constraints that a witness breaks, among those given. */
export function broken(
  constraints: readonly Constraint[],
  witness: readonly bigint[],
  among?: readonly number[],
): number[] {
  const value = (terms: Linear): bigint => {
    let sum = 0n;
    for (const [wire, coefficient] of terms) sum += coefficient * witness[wire]!;
    return sum % R;
  };
  const indices = among ?? constraints.map((_, i) => i);
  return indices.filter((i) => {
    const { a, b, c } = constraints[i]!;
    return (value(a) * value(b) - value(c)) % R !== 0n;
  });
}

/** Constraints that mention each wire. */
export function mentions(constraints: readonly Constraint[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  constraints.forEach(({ a, b, c }, i) => {
    for (const wire of new Set([...a.keys(), ...b.keys(), ...c.keys()])) {
      found.set(wire, [...(found.get(wire) ?? []), i]);
    }
  });
  return found;
}

/**
 * Wires that are not determined by the known ones by these rules, applied until nothing changes: a constraint that is
 * linear in one unknown wire; a sum of bits with distinct powers of two; a flag M = x·y with x·(1 − M) = y·(1 − M) = 0.
 */
export function undetermined(constraints: readonly Constraint[], known: Iterable<number>): number[] {
  const determined = new Set([0, ...known]);
  const isBit = bitsOf(constraints);
  const flags = flagsOf(constraints);
  const linear = constraints.map(linearForm);
  for (let before = -1; before !== determined.size;) {
    before = determined.size;
    constraints.forEach((constraint, i) => {
      const form = linear[i]!;
      if (form === undefined) {
        const unknown = [...constraint.c.keys()].filter((wire) => !determined.has(wire));
        const factors = [...constraint.a.keys(), ...constraint.b.keys()];
        if (unknown.length === 1 && factors.every((wire) => determined.has(wire))) determined.add(unknown[0]!);
        return;
      }
      const unknown = [...form.keys()].filter((wire) => !determined.has(wire));
      const areBits = unknown.every((wire) => isBit.has(wire)) && areDistinctPowers(unknown.map((w) => form.get(w)!));
      if (unknown.length === 1 || areBits) for (const wire of unknown) determined.add(wire);
    });
    for (const { x, y, flag } of flags) {
      if (!determined.has(x) && !determined.has(y)) continue;
      for (const wire of [x, y, flag]) determined.add(wire);
    }
  }
  const all = new Set(constraints.flatMap(({ a, b, c }) => [...a.keys(), ...b.keys(), ...c.keys()]));
  return [...all].filter((wire) => !determined.has(wire)).sort((i, j) => i - j);
}

/** A constraint without a product of wires as Σ = 0. */
function linearForm({ a, b, c }: Constraint): Linear | undefined {
  const constant = (terms: Linear): bigint | undefined =>
    [...terms.keys()].every((wire) => wire === 0) ? (terms.get(0) ?? 0n) : undefined;
  const [ka, kb] = [constant(a), constant(b)];
  if (ka === undefined && kb === undefined) return undefined;
  const [factor, other] = ka !== undefined ? [ka, b] : [kb!, a];
  const form = new Map(c);
  for (const [wire, k] of other) form.set(wire, ((form.get(wire) ?? 0n) - factor * k) % R);
  return new Map([...form].filter(([, k]) => k % R !== 0n));
}

function bitsOf(constraints: readonly Constraint[]): Set<number> {
  const bits = new Set<number>();
  for (const { a, b, c } of constraints) {
    const [p, q] = a.size === 1 ? [a, b] : [b, a];
    const wire = [...p.keys()][0];
    if (p.size !== 1 || q.size !== 2 || c.size > 0 || wire === undefined || wire === 0) continue;
    if ((q.get(0) ?? 0n) !== 0n && ((q.get(wire) ?? 0n) + q.get(0)!) % R === 0n) bits.add(wire);
  }
  return bits;
}

interface Flag {
  readonly x: number;
  readonly y: number;
  readonly flag: number;
}

function flagsOf(constraints: readonly Constraint[]): Flag[] {
  const only = (terms: Linear): number | undefined => (terms.size === 1 ? [...terms.keys()][0] : undefined);
  /** x·(1 − flag) = 0, as `flag:x`. */
  const vanishing = new Set<string>();
  for (const { a, b, c } of constraints) {
    const [p, q] = a.size === 1 ? [a, b] : [b, a];
    const flag = [...q.keys()].find((wire) => wire !== 0);
    if (c.size > 0 || only(p) === undefined || q.size !== 2 || flag === undefined) continue;
    if (((q.get(0) ?? 0n) + q.get(flag)!) % R === 0n) vanishing.add(`${flag}:${only(p)}`);
  }
  return constraints.flatMap(({ a, b, c }) => {
    const [x, y, flag] = [only(a), only(b), only(c)];
    if (x === undefined || y === undefined || flag === undefined) return [];
    return vanishing.has(`${flag}:${x}`) && vanishing.has(`${flag}:${y}`) ? [{ x, y, flag }] : [];
  });
}

/** ±k·2^e with one k and distinct e, all below the field's order: the bits are those of one number. */
function areDistinctPowers(coefficients: readonly bigint[]): boolean {
  const [first] = coefficients;
  if (first === undefined) return false;
  return coefficients.some((unit) => {
    const inverse = inverseOf(unit);
    const powers = coefficients.map((k) => ((((k * inverse) % R) + R) % R).toString(2));
    return powers.every((p) => /^10*$/.test(p) && p.length <= 251) && new Set(powers).size === powers.length;
  });
}

function inverseOf(value: bigint): bigint {
  let [result, base] = [1n, ((value % R) + R) % R];
  for (let e = R - 2n; e > 0n; e >>= 1n) {
    if (e & 1n) result = (result * base) % R;
    base = (base * base) % R;
  }
  return result;
}
