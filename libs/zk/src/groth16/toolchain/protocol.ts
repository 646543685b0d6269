/** What the toolchain's process is asked and what it answers: one JSON document each way. */
import type { CircuitInputs } from '../prover/witness.js';

/** Affine coordinates as decimal strings, as snarkjs prints them. */
export type G1Json = readonly [string, string, ...string[]];
export type G2Json = readonly [readonly [string, string], readonly [string, string], ...unknown[]];

export interface KeyJson {
  readonly vk_alpha_1: G1Json;
  readonly vk_beta_2: G2Json;
  readonly vk_gamma_2: G2Json;
  readonly vk_delta_2: G2Json;
  readonly IC: readonly G1Json[];
}

export interface ProofJson {
  readonly pi_a: G1Json;
  readonly pi_b: G2Json;
  readonly pi_c: G1Json;
}

export type ToolRequest =
  | { readonly op: 'compile'; readonly folder: string; readonly text: string; readonly simplify?: 'O1' }
  | { readonly op: 'development-ptau'; readonly path: string; readonly power: number }
  | { readonly op: 'key'; readonly r1cs: string; readonly ptau: string; readonly zkey: string; readonly name: string }
  | { readonly op: 'check-key'; readonly r1cs: string; readonly ptau: string; readonly zkey: string }
  | { readonly op: 'export-key'; readonly zkey: string }
  | { readonly op: 'witness'; readonly wasm: string; readonly inputs: readonly CircuitInputs[] }
  | { readonly op: 'prove'; readonly wasm: string; readonly zkey: string; readonly inputs: CircuitInputs };

export interface ToolAnswer {
  readonly key?: KeyJson;
  readonly proof?: ProofJson;
  /** Public signals as decimal strings. */
  readonly signals?: readonly string[];
  /** Values of all wires as decimal strings; null for inputs that do not satisfy the circuit. */
  readonly witnesses?: readonly (readonly string[] | null)[];
  readonly isValid?: boolean;
  readonly phases?: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}
