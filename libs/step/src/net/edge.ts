/** Edges and parameters of a net: everything static that the faces of an op read (libs/step/SPEC.md §21). */

/** How the elements of an edge are stored in a record; every edge between layers carries integers of 16 bits. */
export type ElementKind = 'uint8' | 'int16' | 'int32' | 'token';

export interface Edge {
  readonly id: string;
  /** Without the batch axis. */
  readonly shape: readonly number[];
  /** Fraction of its values. */
  readonly a: number;
  /** Fraction of its errors. */
  readonly g: number;
  /** Largest magnitude of a value. */
  readonly max: bigint;
  readonly element: ElementKind;
  /** Whether a trainable parameter lies before it, so that an error flows into it. */
  readonly hasError: boolean;
}

export type ParameterRole = 'W' | 'b';

/** What an op says of a parameter; the optimizer says which fractions it has. */
export interface ParameterDraft {
  readonly role: ParameterRole;
  readonly dims: readonly number[];
  /** Fraction `f_D` of its exact gradient sum. */
  readonly gradientFraction: number;
  /** Largest magnitude of that sum over a batch. */
  readonly gradientMax: bigint;
  /** Start values are drawn from ±ISQRT(FDIV(n·4^w, fan)); absent: `start` says. */
  readonly draw?: { readonly n: number; readonly fan: number };
  /** Every start value where it is not drawn: 0, or 2^w of a norm's gain. */
  readonly start?: 'zero' | 'one';
  /** Whether weight decay moves it. */
  readonly decays: boolean;
}

export interface NetParameter extends ParameterDraft {
  /** `<layer id>.W` or `<layer id>.b`. */
  readonly name: string;
  readonly layer: string;
  /** Fraction `w` of the master. */
  readonly fraction: number;
  /** Fraction `c` of the compute copy; of a bias that of its layer's `W`. */
  readonly compute: number;
  /** Values stay within ±(2^(fraction + wint) − 1). */
  readonly wint: number;
  readonly isFrozen: boolean;
}

/** A layer with its edges resolved. @typeParam M members of its op */
export interface NetLayer<M = object> {
  readonly id: string;
  /** From 0, in the manifest's order. */
  readonly index: number;
  readonly op: string;
  readonly members: M;
  readonly inputs: readonly Edge[];
  readonly output: Edge;
  readonly parameters: Readonly<Partial<Record<ParameterRole, NetParameter>>>;
  readonly batch: number;
  /** 0x and 64 hexadecimal digits: the job's seed, for ops that draw. */
  readonly seed: string;
}

/** A worst case that must stay below a limit (libs/step/SPEC.md §28). */
export interface NetBound {
  /** Names the refusal: STEP_RANGE_<rule>. */
  readonly rule: string;
  readonly where: string;
  readonly value: bigint;
  readonly limit: bigint;
}

/** Largest magnitude of a 16-bit value or error. */
export const edgeMax = 1n << 15n;
/** What float64 carries. */
const carrierLimit = 1n << 53n;

/** Largest magnitude of a compute copy: 2^(c + wint). */
export function computeMax({ compute, wint }: NetParameter): bigint {
  return 1n << BigInt(compute + wint);
}

/** The rule of every `RS(x, s)`: what must stay below the carrier's limit for |x| ≤ max. */
export function roundingValue(max: bigint, s: number): bigint {
  return s > 0 ? max + (1n << BigInt(s - 1)) : max << BigInt(-s);
}

export function bound(rule: string, where: string, value: bigint, limit: bigint = carrierLimit): NetBound {
  return { rule, where, value, limit };
}
